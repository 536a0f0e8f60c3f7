#include "control/job_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "autodist/v1/job.grpc.pb.h"
#include "base/exceptions.h"
#include "base/unix_socket.h"
#include "base/utf8.h"
#include "control/job_calls.h"
#include "control/job_socket.h"
#include "rpc/server.h"

namespace autodist::control {
namespace {

using std::chrono::milliseconds;

// Max time for sending the last answers.
constexpr milliseconds kLastAnswersLimit{1000};
// Max time for gRPC to shut its server down. It may hang: see launch/grpc_link.cc.
constexpr milliseconds kShutDownLimit{5'000};
// Interval between checks whether the socket still exists.
constexpr milliseconds kLookInterval{1000};

// In bytes: most are small, but a shell may have expanded one pattern to a thousand names.
constexpr size_t kLargestRequest = 1 << 20;

constexpr size_t kMaxSender = 100;  // bytes of the name that messages and reports show

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2};

}  // namespace

class JobServer::Service final : public v1::JobService::CallbackService {
 public:
  Service(const std::string& job_id, JobRequests requests) : requests_(std::move(requests)) {
    status_.set_job_id(job_id);
    status_.set_phase(v1::JOB_PHASE_LAUNCHING);
  }

  void Publish(const v1::JobStatus& status) {
    const std::lock_guard lock(mutex_);
    if (!ended_) status_ = status;
  }
  void End(const v1::JobStatus& status) {
    {
      const std::lock_guard lock(mutex_);
      status_ = status;
      ended_ = true;
    }
    AnswerAll();
  }
  // When this returns, no call waits, unless its answer cannot be sent.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    AnswerAll();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLastAnswersLimit, [this] { return open_ == 0; });
  }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const v1::GetStatusRequest*,
                                      v1::JobStatus* response) override {
    const auto call = AnswerLater<v1::JobStatus>::Create(response, [this] { CallIsDone(); });
    if (Await(call) && requests_.get_status) {
      requests_.get_status([call](v1::JobStatus status) { call->Answer(std::move(status)); });
    } else {
      call->Answer(published());
    }
    return call.get();
  }

  grpc::ServerUnaryReactor* WaitForEnd(grpc::CallbackServerContext*, const v1::WaitForEndRequest*,
                                       v1::JobStatus* response) override {
    const auto call = WaitingCall::Create(response, [this] { CallIsDone(); });
    bool over = false;
    {
      const std::lock_guard lock(mutex_);
      ++open_;
      std::erase_if(waiting_, [](const auto& other) { return other.expired(); });
      waiting_.push_back(call);
      over = ended_ || closed_;
    }
    if (over) AnswerAll();
    return call.get();
  }

  grpc::ServerUnaryReactor* GetStacks(grpc::CallbackServerContext*,
                                      const v1::GetStacksRequest* request,
                                      v1::JobStacks* response) override {
    const auto call = AnswerLater<v1::JobStacks>::Create(response, [this] { CallIsDone(); });
    if (Open(call)) {
      requests_.get_stacks(
          *request, [call](Result<v1::JobStacks> answer) { call->Answer(std::move(answer)); });
    }
    return call.get();
  }

  grpc::ServerUnaryReactor* Fetch(grpc::CallbackServerContext*, const v1::FetchRequest* request,
                                  v1::JobFiles* response) override {
    const std::stop_source over;
    const auto call = AnswerLater<v1::JobFiles>::Create(response, [this, over]() mutable {
      over.request_stop();
      CallIsDone();
    });
    if (Open(call)) {
      requests_.fetch(*request, over.get_token(),
                      [call](Result<v1::JobFiles> answer) { call->Answer(std::move(answer)); });
    }
    return call.get();
  }

  grpc::ServerBidiReactor<v1::TerminalInput, v1::TerminalTaken>* UseTerminal(
      grpc::CallbackServerContext*) override {
    const auto call = TerminalCall::Create(requests_.terminal, [this] { CallIsDone(); });
    if (Open(call)) call->Begin();
    return call.get();
  }

  grpc::ServerUnaryReactor* Signal(grpc::CallbackServerContext* context,
                                   const v1::SignalRequest* request, v1::SignalResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(PassOn(*request));
    return reactor;
  }

 private:
  using WaitingCall = AnswerLater<v1::JobStatus>;  // for the end

  // Registers a call that may be answered later; false: the job has ended.
  bool Await(const std::shared_ptr<OpenCall>& call) {
    const std::lock_guard lock(mutex_);
    ++open_;
    if (ended_ || closed_) return false;
    std::erase_if(unanswered_, [](const auto& other) { return other.expired(); });
    unanswered_.push_back(call);
    return true;
  }
  // Registers a call that the end of the job refuses.
  bool Open(const std::shared_ptr<OpenCall>& call) {
    if (Await(call)) return true;
    call->Refuse(has_ended_);
    return false;
  }
  v1::JobStatus published() {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  void CallIsDone() {
    const std::lock_guard lock(mutex_);
    --open_;
    changed_.notify_all();
  }

  // Does not hold the mutex, which gRPC's reaction to the answer needs.
  void AnswerAll() {
    std::vector<std::weak_ptr<WaitingCall>> waiting;
    std::vector<std::weak_ptr<OpenCall>> unanswered;
    Result<v1::JobStatus> end = Error(StatusCode::kUnavailable, "autodist is exiting");
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
      unanswered.swap(unanswered_);
      if (ended_) end = status_;
    }
    for (const auto& weak : waiting) {
      if (const auto call = weak.lock()) call->Answer(end);
    }
    for (const auto& weak : unanswered) {
      if (const auto call = weak.lock()) call->Refuse(has_ended_);
    }
  }

  grpc::Status PassOn(const v1::SignalRequest& request) {
    const int signal = request.signal();
    if (std::ranges::find(kSignals, signal) == kSignals.end()) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "signal " + std::to_string(signal) + " is none that a job can be sent"};
    }
    {
      const std::lock_guard lock(mutex_);
      if (ended_ || closed_) return has_ended_;
    }
    const std::string by = base::Truncated(base::Printable(request.by()), kMaxSender);
    requests_.signal(signal, by.empty() ? "a program without a name" : by);
    return grpc::Status::OK;
  }

  const grpc::Status has_ended_{grpc::StatusCode::FAILED_PRECONDITION, "the job has ended"};
  const JobRequests requests_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::condition_variable changed_;
  v1::JobStatus status_;
  bool ended_ = false;
  bool closed_ = false;
  std::vector<std::weak_ptr<WaitingCall>> waiting_;  // some may have been cancelled
  std::vector<std::weak_ptr<OpenCall>> unanswered_;  // some may have been answered or cancelled
  size_t open_ = 0;                                  // unfinished calls of both kinds
};

// The listening socket and its path.
class JobServer::Socket {
 public:
  static Result<std::unique_ptr<Socket>> Open(const std::string& job_id) {
    auto made = std::make_unique<Socket>();
    made->job_id_ = job_id;
    AD_RETURN_IF_ERROR(made->Listen());
    return made;
  }
  ~Socket() {
    if (IsThere()) unlink(path_.c_str());
  }

  int fd() const { return listener_.get(); }
  void ListenAgainIfRemoved() {
    if (!IsThere()) (void)Listen();  // tries again later
  }

 private:
  Status Listen() {
    AD_ASSIGN_OR_RETURN(std::string path, PlaceForSocket(job_id_));
    AD_ASSIGN_OR_RETURN(base::UniqueFd listener, ListenAt(path));
    if (lstat(path.c_str(), &identity_) != 0) return ErrnoError(errno, path);
    path_ = std::move(path);
    listener_ = std::move(listener);
    return OkStatus();
  }
  bool IsThere() const {
    struct stat now;
    return !path_.empty() && lstat(path_.c_str(), &now) == 0 && now.st_ino == identity_.st_ino &&
           now.st_dev == identity_.st_dev;
  }

  std::string job_id_;
  std::string path_;
  struct stat identity_ {};
  base::UniqueFd listener_;
};

JobServer::JobServer(std::unique_ptr<Service> service,
                     std::unique_ptr<SnapshotCalls> snapshot_calls)
    : service_(std::move(service)), snapshot_calls_(std::move(snapshot_calls)) {}

Result<std::unique_ptr<JobServer>> JobServer::Start(const std::string& job_id,
                                                    JobRequests requests) {
  AD_ASSIGN_OR_RETURN(std::unique_ptr<Socket> socket, Socket::Open(job_id));
  auto snapshot_calls = std::make_unique<SnapshotCalls>(requests.snapshots);
  std::unique_ptr<JobServer> server(new JobServer(
      std::make_unique<Service>(job_id, std::move(requests)), std::move(snapshot_calls)));
  server->socket_ = std::move(socket);
  grpc::ServerBuilder builder;
  rpc::ConfigureServer(builder, kLargestRequest);
  builder.RegisterService(server->service_.get());
  builder.RegisterService(server->snapshot_calls_.get());
  server->server_ = builder.BuildAndStart();
  if (!server->server_) return Error(StatusCode::kInternal, "gRPC could not start a server");
  AD_ASSIGN_OR_RETURN(base::FdPair stop, base::Pipe());
  server->stop_ = std::move(stop.second);
  server->acceptor_ =
      std::thread([server = server.get(), ending = server->ending_, end = std::move(stop.first)] {
        base::HandlingExceptions([&] { server->AcceptLoop(end.get()); });
        grpc::Server& grpc_server = *server->server_;
        ending->accepts_no_more.set_value();
        ending->may_shut_down.get_future().wait();
        grpc_server.Shutdown(std::chrono::system_clock::now());
        ending->is_shut_down.set_value();
      });
  return server;
}

JobServer::~JobServer() {
  if (!acceptor_.joinable()) return;
  stop_.Reset();
  ending_->accepts_no_more.get_future().wait();
  socket_.reset();
  snapshot_calls_->End();
  service_->Close();
  ending_->may_shut_down.set_value();
  const auto shut_down = ending_->is_shut_down.get_future().wait_for(kShutDownLimit);
  if (shut_down == std::future_status::ready) {
    acceptor_.join();
    return;
  }
  // gRPC keeps them until this process exits.
  acceptor_.detach();
  (void)server_.release();
  (void)service_.release();
  (void)snapshot_calls_.release();
}

void JobServer::Publish(const v1::JobStatus& status) { service_->Publish(status); }

void JobServer::End(const v1::JobStatus& status) {
  snapshot_calls_->End();
  service_->End(status);
}

// Passes each connection of the same user to gRPC, until `stop` is readable.
void JobServer::AcceptLoop(int stop) {
  for (;;) {
    pollfd fds[] = {{stop, POLLIN, 0}, {socket_->fd(), POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(kLookInterval.count()));
    if (ready > 0 && fds[0].revents != 0) return;
    if (ready == 0) socket_->ListenAgainIfRemoved();
    if (ready <= 0) continue;
    base::UniqueFd connection(
        accept4(socket_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid()) {
      // For example out of descriptors: the client waits until some are free.
      pollfd entry{stop, POLLIN, 0};
      (void)poll(&entry, 1, static_cast<int>(kLookInterval.count()));
    } else if (base::PeerIsThisUser(connection.get())) {
      grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
    }
  }
}

}  // namespace autodist::control
