#include "agent/life/serve.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "agent/life/cgroup.h"
#include "agent/life/lifetime.h"
#include "agent/link/admission.h"
#include "agent/link/attempt_end.h"
#include "agent/link/service.h"
#include "base/deadline.h"
#include "process/process_tree.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// How long the session may take to close once the chief knows all.
constexpr milliseconds kCloseLimit{1000};
// Of a rank's requests, of which the chief takes 1 MiB; more is not to hold up the link to it.
constexpr int kLargestFromRank = 2 << 20;
constexpr milliseconds kLookInterval{1000};  // at whether the lease still runs
// More than the grace period: then the agent hangs, on a disk or a file system, say.
constexpr std::chrono::seconds kHangLimit{15};
constexpr char kNoGuardian[] = "its agent's guardian was killed, so the agent ended its ranks";

void PrepareSignals() {
  // Ended by the chief or by the lease, not by a passing signal, nor by a limit on files.
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGXFSZ}) ::signal(signal, SIG_IGN);
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

std::unique_ptr<grpc::Server> StartServer(grpc::Service& service, int largest_message) {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(largest_message);
  builder.RegisterService(&service);
  return builder.BuildAndStart();
}

// Whatever hangs in the kernel must not keep the agent, and with it the ranks: SIGALRM kills it,
// and the guardian ends what is left.
void LeaveWithin(milliseconds time) {
  alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count()));
}

// Where it was started from: the file may have been replaced since.
std::string OwnProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

v1::AgentEvent MakeTrouble(std::string what) {
  v1::AgentEvent event;
  event.mutable_trouble()->set_what(std::move(what));
  return event;
}

// The parts of a running agent, joined.
class Agent {
 public:
  explicit Agent(ServeOptions options) : options_(std::move(options)), life_(options_.lease) {}
  // From the outside in: what may still call must go before what it calls.
  ~Agent() {
    rank_server_.reset();
    chief_server_.reset();
    service_.reset();
    supervisor_.reset();
    pmix_.reset();
    if (output_) output_->StopReading();
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  Result<ServeResult> Run();

 private:
  Status Build();
  void SessionChanged(bool open);
  bool InCharge();
  void UpdateInCharge();  // in_charge_mutex_ held
  std::vector<Admission::Watched> Watched();

  ServeOptions options_;
  Lifetime life_;
  std::unique_ptr<RankOutput> output_;
  std::unique_ptr<EventQueue> events_;
  std::unique_ptr<AttemptEnd> end_;
  std::unique_ptr<RendezvousService> rendezvous_;
  std::unique_ptr<PmixService> pmix_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<Admission> admission_;
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> chief_server_;
  std::unique_ptr<grpc::Server> rank_server_;
  base::UniqueFd lock_;
  base::UniqueFd terms_;
  std::mutex in_charge_mutex_;
  // Guarded by in_charge_mutex_. A chief that prepares the node has no session yet, but us started.
  bool starter_counts_ = true;
  bool session_open_ = false;
  std::atomic<bool> cleaned_ = false;
  std::atomic<bool> guardian_gone_ = false;
};

Status Agent::Build() {
  AD_ASSIGN_OR_RETURN(output_, RankOutput::Create({[this] {
                                                     if (end_) end_->OutputChanged();
                                                     if (events_) events_->OutputChanged();
                                                   },
                                                   [this](std::string what) {
                                                     events_->Push(MakeTrouble(std::move(what)));
                                                   }}));
  events_ = std::make_unique<EventQueue>(*output_);
  end_ = std::make_unique<AttemptEnd>(*events_, *output_, [this] {
    events_->Close();
    life_.End();
  });
  SupervisorEvents told = EventsInto(*events_, *output_);
  told.ended = [this] {
    pmix_->Leave();
    end_->ProcessesGone();
  };
  rendezvous_ = std::make_unique<RendezvousService>(*events_);
  pmix_ = std::make_unique<PmixService>(*events_, *rendezvous_, options_.folder.pmix());
  AD_ASSIGN_OR_RETURN(supervisor_, Supervisor::Create(std::move(told)));
  lock_.Reset(open(options_.folder.lock().c_str(), O_RDWR | O_CLOEXEC));
  Hold(lock_.get(), Life::kInCharge);
  options_.folder_lock.Reset();
  service_ = std::make_unique<AgentService>(AgentParts{
      *events_, *output_, *rendezvous_, *supervisor_, *pmix_,
      AgentPlace{options_.folder.rank_socket(), options_.folder.files(), OwnProgram()},
      [this] { life_.Renew(); }, [this](bool held) { life_.Hold(held); },
      [this](bool paused) { life_.Pause(paused); }, [this](bool open) { SessionChanged(open); },
      [this](std::string key) { admission_->SetKey(std::move(key)); },
      [this](bool leave) { end_->Begin(leave); }});
  chief_server_ = StartServer(*service_, rpc::kLargestMessage);
  rank_server_ = StartServer(*rendezvous_, kLargestFromRank);
  if (!chief_server_ || !rank_server_) {
    return Error(StatusCode::kInternal, "gRPC could not start a server");
  }
  admission_ = std::make_unique<Admission>(
      Admission::Doors{std::move(options_.chief_listener), std::move(options_.rank_listener),
                       std::move(options_.first)},
      *chief_server_, *rank_server_);
  terms_ = TermSignals();
  return OkStatus();
}

void Agent::SessionChanged(bool open) {
  {
    const std::lock_guard lock(in_charge_mutex_);
    starter_counts_ = false;
    session_open_ = open;
    UpdateInCharge();
  }
  if (!open) life_.Pause(false);
}

bool Agent::InCharge() {
  const std::lock_guard lock(in_charge_mutex_);
  return starter_counts_ || session_open_;
}

void Agent::UpdateInCharge() {
  if (starter_counts_ || session_open_) {
    Hold(lock_.get(), Life::kInCharge);
  } else {
    Release(lock_.get(), Life::kInCharge);
  }
}

std::vector<Admission::Watched> Agent::Watched() {
  return {{options_.starter.get(),
           [this] {
             life_.StarterGone();
             const std::lock_guard lock(in_charge_mutex_);
             starter_counts_ = false;
             UpdateInCharge();
             return false;
           }},
          {options_.guardian.get(),
           [this] {
             guardian_gone_ = true;
             Hold(lock_.get(), Life::kGuardian);  // what it would do is ours
             life_.Expire();
             return false;
           }},
          {terms_.get(), [this] {
             signalfd_siginfo taken;
             (void)!read(terms_.get(), &taken, sizeof taken);
             if (InCharge()) return true;
             cleaned_ = true;
             life_.Expire();
             return false;
           }}};
}

Result<ServeResult> Agent::Run() {
  AD_RETURN_IF_ERROR(Build());
  AD_ASSIGN_OR_RETURN(base::FdPair stop, base::Pipe());
  std::jthread doors([&] { admission_->Run(stop.first.get(), Watched()); });

  const bool ended = life_.WaitForEnd();
  if (ended) {
    // The chief may be cut off just now: as long as the lease runs it may come back for the rest.
    const auto look = [this] { return std::min(life_.expires(), Deadline::After(kLookInterval)); };
    while (!events_->WaitUntilDelivered(look()) && !life_.expires().Expired()) {
    }
    LeaveWithin(kHangLimit);
  } else {
    LeaveWithin(options_.grace + kHangLimit);
    // Before its consequences.
    v1::AgentEvent expired;
    expired.mutable_lease_expired()->set_why(guardian_gone_ ? kNoGuardian : "");
    events_->Push(std::move(expired));
    end_->Begin(true);
    supervisor_->End(options_.grace);
    supervisor_->WaitUntilEnded();
  }
  events_->WaitUntilDetached(Deadline::After(kCloseLimit));
  stop.second.Reset();
  doors.join();
  chief_server_->Shutdown(std::chrono::system_clock::now());
  rank_server_->Shutdown(std::chrono::system_clock::now());
  if (guardian_gone_) {
    if (const std::optional<Cgroup> cgroup = Cgroup::Find(options_.folder)) {
      cgroup->Leave();
      cgroup->Remove();
    }
    options_.folder.WriteVerdict(kNoGuardian);
    options_.folder.Remove();
  }
  return ended ? kEndedByChief : cleaned_ ? kCleaned : kLeaseExpired;
}

}  // namespace

int Serve(ServeOptions options) {
  PrepareSignals();
  process::AdoptOrphans();
  // Never undone: gRPC's own end waits for a poller that may sleep for seconds yet.
  grpc_init();
  const Result<ServeResult> result = Agent(std::move(options)).Run();
  if (result.ok()) return *result;
  std::fprintf(stderr, "%s\n", Message(result.status()).c_str());
  return kFailed;
}

}  // namespace autodist::agent
