#include "agent/life/agent_core.h"

#include <signal.h>
#include <sys/wait.h>

#include <utility>

#include "agent/life/end_facts.h"
#include "agent/sample/gpu_errors.h"
#include "base/utf8.h"
#include "process/oom_watch.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

// Returns the exit code that a shell would use.
int ExitCodeOf(const Status& start_failure) {
  switch (start_failure.code()) {
    case StatusCode::kNotFound:
      return 127;
    case StatusCode::kPermissionDenied:
      return 126;
    default:
      return 125;
  }
}

v1::AgentEvent MakeWarning(const std::string& what) {
  v1::AgentEvent event;
  event.mutable_warning()->set_what(base::ToUtf8(what, rpc::kMaxTextLength));
  return event;
}

// Sets whether the kernel killed it for lack of memory, or the child of a shell that ran it.
void SetOutOfMemory(process::OomWatch& memory, v1::RankExited& exited) {
  constexpr int kKilledBelowAShell = 128 + SIGKILL;
  const bool killed = exited.has_signal() && exited.signal() == SIGKILL;
  if (!killed && exited.exit_code() != kKilledBelowAShell) return;
  const auto kill = memory.KillOf(killed ? exited.pid() : 0);
  if (!kill) {
    if (const auto kills = memory.KillsSinceBegin()) exited.set_oom_kills(*kills);
    return;
  }
  v1::OutOfMemory& reported = *exited.mutable_out_of_memory();
  reported.set_of_cgroup(kill->of_cgroup);
  reported.set_used(kill->used);
  reported.set_limit(kill->limit);
}

// As messages; `ended` is the caller's to set.
SupervisorEvents EventsInto(EventQueue& events, RankOutput& output, RankInput& input) {
  SupervisorEvents into;
  into.input = [&input](uint32_t rank, base::UniqueFd in) { input.Add(rank, std::move(in)); };
  into.pipes = [&output](uint32_t rank, base::UniqueFd out, base::UniqueFd err) {
    output.Add(rank, std::move(out), std::move(err));
  };
  const auto memory = std::make_shared<process::OomWatch>();
  const auto gpu_errors = std::make_shared<GpuErrors>();
  into.started = [&events, memory, gpu_errors](uint32_t rank, pid_t pid, int64_t time_ns) {
    memory->Begin();
    gpu_errors->RankStarted(pid);
    v1::AgentEvent event;
    event.mutable_rank_started()->set_rank(rank);
    event.mutable_rank_started()->set_pid(pid);
    event.mutable_rank_started()->set_time_ns(time_ns);
    events.SendReliably(std::move(event));
  };
  into.exited = [&events, &input, memory, gpu_errors](const RankExit& exit) {
    input.Remove(exit.rank);
    v1::AgentEvent event;
    v1::RankExited& exited = *event.mutable_rank_exited();
    exited.set_rank(exit.rank);
    exited.set_pid(exit.pid);
    exited.set_time_ns(exit.time_ns);
    if (exit.pid == 0) {
      exited.mutable_start_failure()->set_cause(
          base::ToUtf8(Message(exit.start_failure), rpc::kMaxTextLength));
      exited.mutable_start_failure()->set_exit_code(ExitCodeOf(exit.start_failure));
    } else if (WIFSIGNALED(exit.wait_status)) {
      exited.set_signal(WTERMSIG(exit.wait_status));
      exited.set_core_dumped(WCOREDUMP(exit.wait_status));
    } else {
      exited.set_exit_code(WEXITSTATUS(exit.wait_status));
    }
    SetOutOfMemory(*memory, exited);
    exited.set_signalled(exit.signalled);
    if (exit.first_failure) *exited.mutable_failure_facts() = FailureFactsNow(exited);
    for (v1::GpuError& error : gpu_errors->RankEnded(exit.pid)) {
      *exited.add_gpu_errors() = std::move(error);
    }
    events.SendReliably(std::move(event));
  };
  into.left = [&events](v1::LeftStage stage, const std::vector<pid_t>& processes) {
    v1::AgentEvent event;
    *event.mutable_processes_left() = DescribeLeft(stage, processes);
    if (event.processes_left().processes().empty()) return;
    events.SendReliably(std::move(event));
  };
  return into;
}

}  // namespace

Result<std::unique_ptr<AgentCore>> AgentCore::Create(AgentPlace place, std::string pmix_folder,
                                                     ChiefEvents chief,
                                                     std::function<void()> over) {
  std::unique_ptr<AgentCore> owned(new AgentCore);
  AgentCore& core = *owned;
  AD_ASSIGN_OR_RETURN(core.output_,
                      RankOutput::Create({[&core] {
                                            core.end_->OutputChanged();
                                            core.events_->OutputChanged();
                                          },
                                          [&core](const std::string& what) {
                                            core.events_->SendReliably(MakeWarning(what));
                                          }}));
  core.events_ = std::make_unique<EventQueue>(*core.output_);
  core.end_ = std::make_unique<AttemptEnd>(*core.events_, *core.output_, std::move(over));
  AD_ASSIGN_OR_RETURN(core.input_, RankInput::Create([&core](v1::InputTaken taken) {
                        v1::AgentEvent event;
                        *event.mutable_input_taken() = std::move(taken);
                        core.events_->SendReliably(std::move(event));
                      }));
  AD_ASSIGN_OR_RETURN(core.progress_, ProgressFiles::Create([&core](v1::ProgressLine reported) {
                        v1::AgentEvent event;
                        *event.mutable_progress_line() = std::move(reported);
                        core.events_->SendIfConnected(std::move(event));
                      }));
  core.rendezvous_ = std::make_unique<RendezvousService>(*core.events_);
  const ChiefPort port{
      [&core](v1::AgentEvent event) { core.events_->SendReliably(std::move(event)); },
      [&core](v1::RendezvousRequest request, RendezvousAnswer answer) {
        core.rendezvous_->Ask(std::move(request), std::move(answer));
      }};
  core.pmix_ = std::make_unique<PmixService>(port, std::move(pmix_folder));
  SupervisorEvents reported = EventsInto(*core.events_, *core.output_, *core.input_);
  // Before the end is reported, after which no sample contains the rank.
  reported.started = [&core, next = std::move(reported.started)](uint32_t rank, pid_t pid,
                                                                 int64_t time_ns) {
    next(rank, pid, time_ns);
    core.sampler_->RankStarted(rank, pid);
  };
  reported.exited = [&core, next = std::move(reported.exited)](const RankExit& exit) {
    core.sampler_->RankEnded(exit.rank);
    next(exit);
  };
  reported.ended = [&core] {
    core.pmix_->Leave();
    core.progress_->Flush();
    core.end_->ProcessesGone();
  };
  AD_ASSIGN_OR_RETURN(core.supervisor_, Supervisor::Create(std::move(reported)));
  core.sampler_ = std::make_unique<Sampler>(
      Sampler::Events{
          [&core](v1::NodeSample sample) { core.events_->SendSample(std::move(sample)); },
          [&core](uint32_t rank) { return core.output_->LastOutput(rank); }},
      *core.supervisor_);
  core.service_ = std::make_unique<AgentService>(ServiceParts{
      *core.events_, *core.output_, *core.input_, *core.progress_, *core.end_, *core.rendezvous_,
      *core.supervisor_, *core.sampler_, *core.pmix_, std::move(place), std::move(chief)});
  return owned;
}

// Destroys callers before callees.
AgentCore::~AgentCore() {
  service_.reset();
  if (sampler_) sampler_->Stop();
  supervisor_.reset();
  pmix_.reset();
  input_.reset();
  progress_.reset();
  if (output_) output_->StopReading();
}

}  // namespace autodist::agent
