#include "launch/grpc_link.h"

#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace autodist::launch {
namespace {

// How long a session may take to end: gRPC first finishes the write that it has begun, which a
// connection that takes nothing does not let it.
constexpr std::chrono::milliseconds kEndLimit{100};

}  // namespace

class GrpcLink::Session final : public grpc::ClientBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
 public:
  Session(GrpcLink& link, SessionListener& listener) : link_(link), listener_(listener) {
    link.stub_->async()->Session(&context_, this);
    AddHold();  // Send writes from outside gRPC's calls to us
    StartRead(&event_);
    StartCall();
  }

  ~Session() override { End(); }

  void End() {
    Break();
    std::unique_lock lock(mutex_);
    const auto done = [this] { return done_; };
    if (done_changed_.wait_for(lock, kEndLimit, done)) return;
    link_.HangUp();
    done_changed_.wait(lock, done);
  }

  void Break() { context_.TryCancel(); }

  void Send(v1::ChiefMessage message) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = true;
      }
      RemoveHold();
      return;
    }
    listener_.OnEvent(std::move(event_));
    StartRead(&event_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      failed_ = true;  // OnDone tells why
      return;
    }
    outgoing_.pop_front();
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
  }

  void OnDone(const grpc::Status& status) override {
    // The stream knows better than gRPC why a connection broke.
    const Status broken = status.ok() ? OkStatus() : link_.stream_->Failure();
    listener_.OnClosed(broken.ok() ? rpc::FromGrpc(status) : broken);
    const std::lock_guard lock(mutex_);
    failed_ = true;
    done_ = true;
    done_changed_.notify_all();
  }

  GrpcLink& link_;
  SessionListener& listener_;
  grpc::ClientContext context_;
  v1::AgentEvent event_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  std::deque<v1::ChiefMessage> outgoing_;  // the first is being written
  bool failed_ = false;
  bool done_ = false;
};

GrpcLink::GrpcLink(std::unique_ptr<transport::Stream> stream,
                   std::shared_ptr<grpc::Channel> channel, base::UniqueFd line)
    : stream_(std::move(stream)),
      line_(std::move(line)),
      stub_(v1::AgentService::NewStub(std::move(channel))) {}

GrpcLink::~GrpcLink() = default;

void GrpcLink::HangUp() const { shutdown(line_.get(), SHUT_RDWR); }

Status GrpcLink::Sync(FolderSync& sync, const std::stop_token& stop) {
  const Status status = sync.CopyTo(
      *stub_, [this] { HangUp(); }, stop);
  return status.ok() || stream_->Failure().ok() ? status : stream_->Failure();
}

template <typename Request, typename Response>
Result<Response> GrpcLink::Call(Method<Request, Response> method, const Request& request,
                                base::Deadline deadline, const std::stop_token& stop) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       (deadline.when() - base::Deadline::Clock::now()));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  Response response;
  const Status status = rpc::FromGrpc((*stub_.*method)(&context, request, &response));
  if (!stream_->Failure().ok()) return stream_->Failure();
  AD_RETURN_IF_ERROR(status);
  return response;
}

Result<v1::PrepareResponse> GrpcLink::Prepare(const v1::PrepareRequest& request,
                                              base::Deadline deadline,
                                              const std::stop_token& stop) {
  return Call(&v1::AgentService::Stub::Prepare, request, deadline, stop);
}

Result<v1::OpenPortsResponse> GrpcLink::OpenPorts(const v1::OpenPortsRequest& request,
                                                  base::Deadline deadline,
                                                  const std::stop_token& stop) {
  return Call(&v1::AgentService::Stub::OpenPorts, request, deadline, stop);
}

Result<v1::TryPortsResponse> GrpcLink::TryPorts(const v1::TryPortsRequest& request,
                                                base::Deadline deadline,
                                                const std::stop_token& stop) {
  return Call(&v1::AgentService::Stub::TryPorts, request, deadline, stop);
}

void GrpcLink::OpenSession(SessionListener& listener) {
  session_ = std::make_unique<Session>(*this, listener);
}

void GrpcLink::Break() {
  if (session_) session_->Break();
}

void GrpcLink::EndSession() {
  if (session_) session_->End();
}

void GrpcLink::Send(v1::ChiefMessage message) {
  if (session_) session_->Send(std::move(message));
}

}  // namespace autodist::launch
