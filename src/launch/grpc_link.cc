#include "launch/grpc_link.h"

#include <grpcpp/generic/generic_stub.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "base/exceptions.h"
#include "launch/agent_rules.h"
#include "rpc/message_rules.h"
#include "rpc/printable_text.h"

namespace autodist::launch {
namespace {

// The time for a session to end: gRPC first finishes a write in progress, which a stalled
// connection prevents.
constexpr std::chrono::milliseconds kEndLimit{100};
// The time to end after the connection was shut down. If gRPC 1.51 cannot start a thread because of
// the user's limit, it loses that thread's work, and the session never ends.
constexpr std::chrono::milliseconds kShutDownLimit{1'000};

// The maximum size of messages that an agent has not read; beyond it the node fails.
constexpr size_t kMaxUnsent = 64 << 20;  // bytes
constexpr size_t kCostOfUnsent = 512;    // in addition to the content

// Replaces gRPC's messages about invalid, oversized or compressed messages of an agent.
Status FromAgent(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INVALID_ARGUMENT:
      return rpc::BrokenRule(status.error_message());
    default:
      return rpc::FromGrpc(status);
  }
}

std::chrono::system_clock::time_point WallTimeOf(base::Deadline deadline) {
  return std::chrono::system_clock::now() + (deadline.when() - base::Deadline::Clock::now());
}

}  // namespace

// Parses events itself, because gRPC would report an invalid one as the end of the stream.
class GrpcLink::Session final : public grpc::ClientBidiReactor<v1::ChiefMessage, grpc::ByteBuffer> {
 public:
  Session(GrpcLink& link, SessionListener& listener)
      : stub_(link.channel_), link_(link), listener_(listener) {
    stub_.PrepareBidiStreamingCall(&context_, "/autodist.v1.AgentService/Session", {}, this);
    AddHold();  // Send writes from outside of gRPC's callbacks
  }

  // Starts the call; from now on gRPC's threads call the listener, which may call the link.
  void Start() {
    StartRead(&bytes_);
    StartCall();
  }

  // Ends the call. The listener is not called after this returns.
  void Detach() {
    Break();
    const std::lock_guard lock(listener_mutex_);
    closed_ = true;
    if (detached_ == Clock::time_point{}) detached_ = Clock::now();
  }

  // Blocks until gRPC has ended the session; the limits count from the first Detach. False: gRPC
  // has not, and may use the session, and the channel, until this process exits.
  bool End() {
    Detach();
    std::unique_lock lock(mutex_);
    const auto done = [this] { return done_; };
    if (done_changed_.wait_until(lock, detached_ + kEndLimit, done)) return true;
    link_.HangUp();
    return done_changed_.wait_until(lock, detached_ + kEndLimit + kShutDownLimit, done);
  }

  void Break() { context_.TryCancel(); }

  void Send(v1::ChiefMessage message) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    unsent_ += message.ByteSizeLong() + kCostOfUnsent;
    if (unsent_ > kMaxUnsent) {
      failed_ = true;
      broken_rule_ = "it reads nothing of what it is sent";
      return Break();
    }
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

 private:
  using Clock = base::Deadline::Clock;

  void OnReadDone(bool ok) override {
    if (!ok) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = true;
      }
      RemoveHold();
      return;
    }
    v1::AgentEvent event;
    if (!grpc::SerializationTraits<v1::AgentEvent>::Deserialize(&bytes_, &event).ok()) {
      Fail("it sends an invalid message");
      RemoveHold();
      return;
    }
    base::HandlingExceptions([&] {
      const std::lock_guard lock(listener_mutex_);
      if (!closed_) listener_.OnEvent(std::move(event));
    });
    StartRead(&bytes_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      failed_ = true;  // OnDone has the reason
      return;
    }
    unsent_ -= outgoing_.front().ByteSizeLong() + kCostOfUnsent;
    outgoing_.pop_front();
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
  }

  void OnDone(const grpc::Status& status) override {
    base::HandlingExceptions([&] {
      const std::lock_guard lock(listener_mutex_);
      // Otherwise the link may no longer exist.
      if (!std::exchange(closed_, true)) listener_.OnClosed(WhyEnded(status));
    });
    const std::lock_guard lock(mutex_);
    failed_ = true;
    done_ = true;
    done_changed_.notify_all();
  }

  Status WhyEnded(const grpc::Status& status) {
    const std::string broken_rule = BrokenRuleIfAny();
    if (!broken_rule.empty()) return rpc::BrokenRule(broken_rule);
    // The stream has a better reason than gRPC for a broken connection.
    const Status broken = status.ok() ? OkStatus() : link_.stream_->Failure();
    return broken.ok() ? FromAgent(status) : broken;
  }

  void Fail(const std::string& broken_rule) {
    {
      const std::lock_guard lock(mutex_);
      failed_ = true;
      broken_rule_ = broken_rule;
    }
    Break();
  }
  std::string BrokenRuleIfAny() {
    const std::lock_guard lock(mutex_);
    return broken_rule_;
  }

  grpc::TemplatedGenericStub<v1::ChiefMessage, grpc::ByteBuffer> stub_;

  GrpcLink& link_;
  SessionListener& listener_;
  grpc::ClientContext context_;
  grpc::ByteBuffer bytes_;        // of the next event
  std::mutex listener_mutex_;     // held while the listener is called
  bool closed_ = false;           // guarded by listener_mutex_: no more calls
  Clock::time_point detached_{};  // set once, before End waits
  std::mutex mutex_;
  std::condition_variable done_changed_;
  std::deque<v1::ChiefMessage> outgoing_;  // the first is being written
  size_t unsent_ = 0;                      // bytes of outgoing_
  std::string broken_rule_;                // why the agent's messages are ignored
  bool failed_ = false;
  bool done_ = false;
};

GrpcLink::GrpcLink(std::unique_ptr<transport::Stream> stream,
                   std::shared_ptr<grpc::Channel> channel, base::UniqueFd line)
    : stream_(std::move(stream)),
      line_(std::move(line)),
      channel_(std::move(channel)),
      stub_(v1::AgentService::NewStub(channel_)) {}

GrpcLink::~GrpcLink() { EndSession(); }

void GrpcLink::HangUp() const { shutdown(line_.get(), SHUT_RDWR); }

Status GrpcLink::Sync(transfer::FolderSync& sync, uint32_t node_rank, const std::stop_token& stop) {
  const Status status = sync.CopyTo(
      node_rank, *stub_, [this] { HangUp(); }, stop);
  return status.ok() || stream_->Failure().ok() ? status : stream_->Failure();
}

template <typename Request, typename Response>
Result<Response> GrpcLink::Checked(const grpc::Status& status, const Request& request,
                                   Response response) {
  const Status failure = FromAgent(status);
  if (!stream_->Failure().ok()) return stream_->Failure();
  AD_RETURN_IF_ERROR(failure);
  AD_RETURN_IF_ERROR(CheckAnswer(request, response));
  rpc::EscapeText(response);
  return response;
}

template <typename Request, typename Response>
Result<Response> GrpcLink::Call(Method<Request, Response> method, const Request& request,
                                base::Deadline deadline, const std::stop_token& stop) {
  grpc::ClientContext context;
  context.set_deadline(WallTimeOf(deadline));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  Response response;
  const grpc::Status status = (*stub_.*method)(&context, request, &response);
  return Checked(status, request, std::move(response));
}

Result<v1::PrepareResponse> GrpcLink::Prepare(const v1::PrepareRequest& request,
                                              base::Deadline deadline,
                                              const std::stop_token& stop) {
  return Call(&v1::AgentService::Stub::Prepare, request, deadline, stop);
}

// Owned by the link, because `done` may release it elsewhere: a context may be the last owner of
// the channel, whose destructor joins gRPC's threads.
struct GrpcLink::Preparing {
  grpc::ClientContext context;
  v1::PrepareRequest request;
  v1::PrepareResponse response;
  std::mutex mutex;
  Prepared done;  // guarded by mutex; empty after the call
  std::optional<std::stop_callback<std::function<void()>>> cancel;

  Prepared TakeDone() {
    const std::lock_guard lock(mutex);
    return std::exchange(done, nullptr);
  }
};

void GrpcLink::PrepareLater(v1::PrepareRequest request, base::Deadline deadline,
                            const std::stop_token& stop, Prepared done) {
  preparing_ = std::make_unique<Preparing>();
  Preparing& call = *preparing_;
  call.request = std::move(request);
  call.done = std::move(done);
  call.context.set_deadline(WallTimeOf(deadline));
  call.cancel.emplace(stop, [&context = call.context] { context.TryCancel(); });
  stub_->async()->Prepare(
      &call.context, &call.request, &call.response, [this, &call](const grpc::Status& status) {
        const Prepared own = call.TakeDone();
        if (!own) return;  // the link may no longer exist
        call.cancel.reset();
        Result<v1::PrepareResponse> prepared =
            Error(StatusCode::kInternal, "its answer could not be read");
        base::HandlingExceptions(
            [&] { prepared = Checked(status, call.request, std::move(call.response)); });
        base::HandlingExceptions([&] { own(std::move(prepared)); });
      });
}

// Leaks what gRPC does not end, until this process exits.
void GrpcLink::Abandon() {
  rpc::KeepUntilExit(channel_);
  (void)session_.release();
  if (!preparing_) return;
  Preparing& call = *preparing_.release();
  if (const Prepared own = call.TakeDone()) {
    call.cancel.reset();
    own(Error(StatusCode::kUnavailable, "the connection broke while the node was prepared"));
  }
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

transfer::FetchedFiles GrpcLink::Fetch(const transfer::FetchOrder& order,
                                       transfer::FetchedFolder& folder,
                                       const std::stop_token& stop) {
  transfer::FetchedFiles fetched = transfer::FetchFiles(
      *stub_, order, folder, [this] { HangUp(); }, stop);
  if (!fetched.status.ok() && !stream_->Failure().ok()) fetched.status = stream_->Failure();
  return fetched;
}

void GrpcLink::OpenSession(SessionListener& listener) {
  session_ = std::make_unique<Session>(*this, listener);
  session_->Start();
}

void GrpcLink::Break() {
  if (session_) session_->Break();
}

void GrpcLink::Detach() {
  if (session_) session_->Detach();
}

void GrpcLink::EndSession() {
  if (session_ && !session_->End()) Abandon();
}

void GrpcLink::EndAtExit() {
  EndSession();
  rpc::KeepUntilExit(channel_);
}

void GrpcLink::Send(v1::ChiefMessage message) {
  if (session_) session_->Send(std::move(message));
}

}  // namespace autodist::launch
