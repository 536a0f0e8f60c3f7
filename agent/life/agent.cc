#include "agent/life/agent.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "agent/life/cgroup.h"
#include "base/deadline.h"
#include "base/thread.h"
#include "process/process_tree.h"
#include "rpc/limits.h"
#include "rpc/server.h"
#include "rpc/settings.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// The time for the session to close after everything has been delivered.
constexpr milliseconds kCloseLimit{1000};
constexpr milliseconds kLookInterval{1000};  // for checking the lease
// The delay of a heartbeat after which the watchdog considers the agent hung.
constexpr milliseconds kBeatSlack{3000};
// The lease after the scheduler has begun to end the job, so that it need not kill us.
constexpr milliseconds kLeaseAtEnd{10'000};
constexpr char kNoWatchdog[] =
    "its agent's watchdog was killed, so the agent ended all that it had started";

void PrepareSignals() {
  // Only the chief and the lease end the agent, not signals to the session.
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);  // inherited by every thread; read by the supervisor
  sigaddset(&set, SIGTERM);  // read below
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

base::UniqueFd TermSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::unique_ptr<grpc::Server> StartServer(grpc::Service& service, size_t largest_message) {
  grpc::ServerBuilder builder;
  rpc::ConfigureServer(builder, largest_message);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

// Returns the path of this program, which is unusable for a program in memory or a removed file.
std::string OwnProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && std::filesystem::exists(path, error)) return path;
  return "/proc/" + std::to_string(getpid()) + "/exe";
}

// Returns the agents of this user's other jobs on this host. Those of the same job have other
// devices.
std::vector<OtherAgent> OthersThan(const std::string& job_id) {
  std::vector<OtherAgent> others;
  for (const JobFolder& folder : JobFolder::All()) {
    if (folder.job_id() == job_id || !folder.IsOurs() || !HasWatchdog(folder)) continue;
    others.push_back({folder.job_id(), folder.devices()});
  }
  return others;
}

}  // namespace

Status Agent::Build() {
  AD_ASSIGN_OR_RETURN(
      core_, AgentCore::Create({options_.folder.rank_socket(), options_.folder.files(),
                                OwnProgram(), options_.folder.devices(),
                                [own = options_.folder.job_id()] { return OthersThan(own); },
                                options_.folder.job_id()},
                               options_.folder.pmix(),
                               {[this] { life_.Renew(); },
                                [this](Deadline::Clock::time_point sent) { life_.Received(sent); },
                                [this](bool expected) { life_.ExpectSilence(expected); },
                                [this](milliseconds hold) { life_.Suspend(hold); },
                                [this](bool open) {
                                  if (!open) life_.Suspend({});
                                },
                                [this](std::string key) { admission_->SetKey(std::move(key)); }},
                               [this] { life_.End(); }));
  lock_.Reset(open(options_.folder.lock().c_str(), O_RDWR | O_CLOEXEC));
  options_.folder_lock.Reset();
  chief_server_ = StartServer(core_->service(), rpc::kLargestFromChief);
  rank_server_ = StartServer(core_->rendezvous(), rpc::kLargestFromRank);
  if (!chief_server_ || !rank_server_) {
    return Error(StatusCode::kInternal, "gRPC could not start a server");
  }
  admission_ =
      std::make_unique<Admission>(std::move(options_.sockets), *chief_server_, *rank_server_);
  terms_ = TermSignals();
  return OkStatus();
}

// The chief replaces the ranks when the lease has expired, also if this agent cannot end them.
void Agent::OnLease(Deadline expires) {
  if (!options_.heartbeat) return;
  options_.heartbeat->ExpireAt(core_->service().replaceable() ? expires : Deadline::Never());
}

void Agent::Beat() {
  if (options_.heartbeat) options_.heartbeat->Beat(options_.lease + kBeatSlack);
}

// SIGALRM kills the agent, and so its ranks, even if it hangs in the kernel; the watchdog ends the
// rest.
void Agent::LeaveWithin(milliseconds time) {
  if (options_.heartbeat) options_.heartbeat->Beat(time + kBeatSlack);
  alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count()));
}

std::vector<Admission::Watched> Agent::Watched() {
  return {{options_.starter.get(),
           [this] {
             life_.StarterGone();
             return false;
           }},
          {options_.watchdog.get(),
           [this] {
             watchdog_gone_ = true;
             // The agent takes over the watchdog's duties.
             TakeLock(lock_.get(), JobLock::kWatchdog);
             life_.Expire();
             return false;
           }},
          {terms_.get(), [this] {
             signalfd_siginfo taken;
             (void)!read(terms_.get(), &taken, sizeof taken);
             if (LockHolder(lock_.get(), JobLock::kChiefInCharge)) {
               if (options_.held) OnEvictionNotice(static_cast<pid_t>(taken.ssi_pid) != getppid());
               return true;
             }
             cleaned_ = true;
             life_.Expire();
             return false;
           }}};
}

// The scheduler ends the job. It has signalled the chief too, which may end, or be disconnected,
// before this.
void Agent::OnEvictionNotice(bool ranks_were_signalled) {
  v1::AgentEvent ends;
  ends.mutable_eviction_notice();
  core_->events().SendReliably(std::move(ends));
  core_->supervisor().StopForGood(options_.grace, ranks_were_signalled);
  life_.Shorten(kLeaseAtEnd);
}

// The chief may be disconnected now; until the lease expires it may reconnect for the rest.
void Agent::AwaitDelivery() {
  const auto look = [this] {
    Beat();
    return std::min(life_.expires(), Deadline::After(kLookInterval));
  };
  while (!core_->events().WaitUntilDelivered(look()) && !life_.expires().Expired()) {
  }
}

void Agent::EndJob() {
  v1::AgentEvent expired;
  expired.mutable_lease_expired()->set_why(watchdog_gone_ ? kNoWatchdog : "");
  const bool replaceable = core_->service().replaceable();
  if (replaceable) {
    core_->supervisor().End(milliseconds(0));
    core_->supervisor().WaitUntilEnded();
  }
  // Otherwise sent before its consequences.
  core_->events().SendReliably(std::move(expired));
  // An order to start may have been waiting while this process was stopped.
  core_->service().Shutdown(replaceable ? milliseconds(0) : options_.grace);
  core_->supervisor().WaitUntilEnded();
}

// Does what the watchdog would have done.
void Agent::RemoveFolder() {
  if (const std::optional<Cgroup> cgroup = Cgroup::Find(options_.folder)) {
    cgroup->Leave();
    cgroup->Remove();
  }
  options_.folder.WriteEndReason(kNoWatchdog);
  options_.folder.Remove();
}

Result<AgentResult> Agent::Run() {
  AD_RETURN_IF_ERROR(Build());
  AD_ASSIGN_OR_RETURN(base::FdPair stop, base::Pipe());
  AD_ASSIGN_OR_RETURN(std::jthread admission,
                      base::StartThread([&] { admission_->Run(stop.first.get(), Watched()); }));

  const bool ended = life_.WaitForEnd(kLookInterval, [this] { Beat(); });
  if (ended) {
    AwaitDelivery();
    LeaveWithin(kHangLimit);
  } else {
    LeaveWithin(options_.grace + kHangLimit);
    EndJob();
  }
  core_->events().WaitUntilDetached(Deadline::After(kCloseLimit));
  stop.second.Reset();
  admission.join();
  chief_server_->Shutdown(std::chrono::system_clock::now());
  rank_server_->Shutdown(std::chrono::system_clock::now());
  if (watchdog_gone_) RemoveFolder();
  return ended ? kEndedByChief : cleaned_ ? kCleaned : kLeaseExpired;
}

int Agent::Main(AgentOptions options) {
  PrepareSignals();
  // So that it ends its ranks even if it is stopped when its watchdog is killed.
  prctl(PR_SET_PDEATHSIG, SIGCONT);
  rpc::BeginProgram();
  process::AdoptOrphans();
  // Never undone: gRPC's shutdown waits for a poller that may sleep for seconds.
  grpc_init();
  const Result<AgentResult> result = Agent(std::move(options)).Run();
  if (result.ok()) return *result;
  std::fprintf(stderr, "%s\n", Message(result.status()).c_str());
  return kFailed;
}

}  // namespace autodist::agent
