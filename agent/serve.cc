#include "serve.h"

#include <grpcpp/server_posix.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/deadline.h"
#include "process/process_tree.h"
#include "rpc/channel.h"
#include "service.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// How long the last events may take to reach the chief once nothing of the job is left here.
constexpr milliseconds kDeliveryLimit{5000};

// When the agent's work is over: everything has ended, or nobody is in charge any more.
class Lifetime {
 public:
  explicit Lifetime(milliseconds lease) : lease_(lease), expires_(Deadline::After(lease)) {}

  void Renew() {
    const std::lock_guard lock(mutex_);
    claimed_ = true;
    expires_ = Deadline::After(lease_);
  }
  // Nobody will come if nobody has.
  void StarterGone() {
    const std::lock_guard lock(mutex_);
    if (!claimed_) {
      held_ = false;
      expires_ = Deadline::After(milliseconds(0));
    }
    changed_.notify_all();
  }
  // While the node is being prepared the chief has nothing to say, and the lease does not run.
  void Hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    expires_ = Deadline::After(lease_);
    changed_.notify_all();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  // True when everything has ended, false when the lease has expired.
  bool WaitForEnd() {
    std::unique_lock lock(mutex_);
    while (!ended_ && (held_ || !expires_.Expired())) {
      changed_.wait_until(lock, (held_ ? Deadline::Never() : expires_).when());
    }
    return ended_;
  }
  void WaitForEnded() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
  }

 private:
  const milliseconds lease_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Deadline expires_;
  bool claimed_ = false;  // a chief has been heard
  bool held_ = false;
  bool ended_ = false;
};

bool IsOurUser(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == geteuid();
}

// Hands each connection of our own user to gRPC, until `stop` has something to read.
void AcceptLoop(const ServeOptions& options, int stop, Lifetime& lifetime, grpc::Server& server) {
  pollfd fds[] = {
      {options.listener.get(), POLLIN, 0}, {stop, POLLIN, 0}, {options.starter.get(), POLLIN, 0}};
  for (;;) {
    if (poll(fds, 3, -1) < 0) continue;
    if (fds[1].revents != 0) return;
    if (fds[2].revents != 0) {
      fds[2].fd = -1;  // told once
      lifetime.StarterGone();
    }
    if (fds[0].revents == 0) continue;
    base::UniqueFd connection(
        accept4(options.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.valid() && IsOurUser(connection.get())) {
      grpc::AddInsecureChannelFromFd(&server, connection.Release());
    }
  }
}

void PrepareSignals() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    ::signal(signal, SIG_IGN);  // ended by the chief or by the lease, not by a passing signal
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // inherited by every thread; read by the supervisor
}

Status Run(const ServeOptions& options) {
  EventQueue events;
  Lifetime lifetime(options.identity.lease);
  SupervisorEvents told = EventsInto(events);
  told.ended = [&] {
    events.Close();
    lifetime.End();
  };
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Supervisor> supervisor,
                      Supervisor::Create(std::move(told)));
  RendezvousService rendezvous(events);
  AgentService service(
      events, rendezvous, *supervisor, options.folder + "/" + kSocketName,
      [&lifetime] { lifetime.Renew(); }, [&lifetime](bool held) { lifetime.Hold(held); });
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(rpc::kLargestMessage);
  builder.RegisterService(&service);
  builder.RegisterService(&rendezvous);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return Error(StatusCode::kInternal, "gRPC could not start a server");

  AD_ASSIGN_OR_RETURN(base::FdPair stop, base::Pipe());
  std::jthread acceptor([&] { AcceptLoop(options, stop.first.get(), lifetime, *server); });

  if (!lifetime.WaitForEnd()) {
    std::fprintf(stderr, "no chief: ending the job on this node\n");
    supervisor->Shutdown(options.identity.grace);
    lifetime.WaitForEnded();
  } else {
    events.WaitUntilDelivered(Deadline::After(kDeliveryLimit));
  }
  stop.second.Reset();
  acceptor.join();
  server->Shutdown(std::chrono::system_clock::now());
  return OkStatus();
}

}  // namespace

void RemoveAgentFolder(const std::string& folder) {
  unlink((folder + "/" + kSocketName).c_str());
  unlink((folder + "/" + kLogName).c_str());
  rmdir(folder.c_str());
  rmdir(folder.substr(0, folder.rfind('/')).c_str());  // if this was the last job
}

int Serve(const ServeOptions& options) {
  PrepareSignals();
  process::AdoptOrphans();
  const Status status = Run(options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", Message(status).c_str());
    return 1;  // the folder stays, with this message in agent.log
  }
  RemoveAgentFolder(options.folder);
  return 0;
}

}  // namespace autodist::agent
