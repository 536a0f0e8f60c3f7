#include "chief/job.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/count.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/seconds.h"
#include "base/wall_clock.h"
#include "diagnosis/diagnosis_text.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::Log;
using base::LogLevel;
using std::chrono::milliseconds;

// How long agents may take to end themselves.
constexpr milliseconds kGoneLimit{3'000};
// A signal that comes sooner after the end was meant for the job.
constexpr milliseconds kFinishLimit{1'000};

std::vector<uint32_t> AllNodes(const v1::LaunchPlan& plan) {
  std::vector<uint32_t> all;
  for (const v1::NodePlan& node : plan.nodes()) all.push_back(node.node_rank());
  return all;
}

}  // namespace

v1::ChiefMessage Job::GraceOrder(milliseconds grace, bool leave) {
  v1::ChiefMessage message;
  const auto grace_ms = static_cast<uint32_t>(grace.count());
  if (leave) {
    message.mutable_shutdown()->set_grace_ms(grace_ms);
  } else {
    message.mutable_end()->set_grace_ms(grace_ms);
  }
  return message;
}

Job::Job(const v1::LaunchPlan& plan, JobOptions options)
    : plan_(plan),
      options_(std::move(options)),
      signals_(std::in_place, [this](int signal) { Signal(signal); }),
      restarts_(options_.restarts),
      launched_(static_cast<size_t>(plan.nodes_size())),
      attempt_(MakeAttempt(0, plan, AllNodes(plan))) {
  ::signal(SIGPIPE, SIG_IGN);
  NodeWatch::Handlers handlers;
  handlers.event = [this](uint32_t node, const v1::AgentEvent& event) { HandleEvent(node, event); };
  handlers.output = [this](uint32_t node, v1::Output output) {
    HandleOutput(node, std::move(output));
  };
  handlers.lost = [this](uint32_t node, const Status& why) { HandleLost(node, why); };
  handlers.ended = [this](uint32_t node) {
    if (!leaving_) HandleLost(node, Error(StatusCode::kUnavailable, "its agent left"));
  };
  handlers.changed = [this](uint32_t node, v1::NodePhase phase, const std::string& why) {
    v1::JobEvent event;
    event.set_node(plan_.nodes(static_cast<int>(node)).address());
    event.set_node_phase(phase);
    event.set_what(why);
    Record(std::move(event));
  };
  handlers.tell = [this](LogLevel level, std::string text) {
    messages_.Tell(level, std::move(text));
  };
  watch_.emplace(
      plan_, options_.launch.lease,
      [this](std::function<void()> task) { mailbox_.Put(std::move(task)); }, std::move(handlers));
  options_.launch.greeting = [this](uint32_t node) { return watch_->node(node).Greeting(); };

  status_.set_job_id(plan.job_id());
  status_.set_chief_pid(getpid());
  status_.set_host(base::HostName());
  status_.set_log_folder(std::filesystem::absolute(options_.log_folder));
  status_.set_detached(options_.detached);
  status_.set_started_ms(base::MillisecondsSince1970());
  status_.set_working_directory(plan.working_directory());
  status_.set_max_restarts(options_.restarts.max_restarts);
  status_.set_may_restart(options_.restarts.max_restarts > 0 || options_.restarts.min_nodes > 0);
  if (plan.nodes(0).ranks_size() > 0) *status_.mutable_command() = plan.nodes(0).ranks(0).argv();
}

// Whatever may call the nodes, or be called by them, ends before they do.
Job::~Job() {
  if (launcher_) launcher_->Stop();
  attempt_->output.reset();
  watch_.reset();
}

void Job::Signal(int signal) {
  if (const int64_t since = finishing_since_; since != 0) {
    const Deadline::Clock::time_point time{Deadline::Clock::duration(since)};
    if (Deadline::Clock::now() - time > kFinishLimit) _exit(exit_code_);
    return;
  }
  mailbox_.Put([this, signal] { HandleSignal(signal); });
}

int Job::Run() {
  auto log = EventLog::Create(options_.log_folder);
  if (!log.ok()) {
    base::LogFailure(log.status());
    return kExitCannotLaunch;
  }
  log_ = *std::move(log);
  EnterPhase(v1::JOB_PHASE_LAUNCHING, "");
  std::optional<int> refused = LaunchAll();
  if (!refused) refused = MovePorts();
  if (!refused) {
    const Status opened = OpenOutput(*attempt_);
    if (!opened.ok()) {
      base::LogFailure(opened);
      refused = kExitCannotLaunch;
    }
  }
  if (refused) {
    End(true);
    status_.set_exit_code(*refused);
    EnterPhase(v1::JOB_PHASE_ENDED, "nothing was started");
    return *refused;
  }
  if (options_.timeout.count() > 0) timeout_at_ = Deadline::After(options_.timeout);
  for (;;) {
    BeginAttempt();
    RunAttempt();
    const auto wait = RestartWait();
    if (!wait || !Restart(*wait)) break;
  }
  End(true);
  return Finish();
}

std::optional<int> Job::LaunchAll() {
  if (options_.preflight) {
    preflight_.emplace(plan_, false);
    options_.launch.examination = preflight_->examination();
  }
  options_.launch.pmix = attempt_->pmix;
  auto launcher = launch::Launcher::Create(plan_, options_.launch);
  if (!launcher.ok()) {
    base::LogFailure(launcher.status());
    return kExitCannotLaunch;
  }
  launcher_ = std::move(*launcher);
  launcher_->Start([this](launch::LaunchedNode node) {
    mailbox_.Put([this, shared = std::make_shared<launch::LaunchedNode>(std::move(node))] {
      Launched(std::move(*shared));
    });
  });
  while (turned_out_ < launched_.size() || !watch_->AllResumed()) Step();
  if (const auto refused = Refused()) return refused;
  if (preflight_ && !PassesPreflight()) return kExitCannotLaunch;
  watch_->ConnectAgainBy(*launcher_);
  return std::nullopt;
}

void Job::Launched(launch::LaunchedNode node) {
  const uint32_t rank = node.node_rank;
  ++turned_out_;
  launched_[rank] = std::move(node);
  if (launched_[rank].link) watch_->Add(rank, launched_[rank].link);
}

std::optional<int> Job::Refused() {
  if (interrupted_by_ != 0) {
    Log(LogLevel::kError, "interrupted before anything was started");
    return 128 + interrupted_by_;
  }
  for (const launch::LaunchedNode& node : launched_) {
    for (const std::string& warning : node.prepared.warnings()) {
      Log(LogLevel::kWarning,
          plan_.nodes(static_cast<int>(node.node_rank)).address() + ": " + warning);
    }
  }
  const int exit_code = LaunchExitCode(launched_);
  if (exit_code == 0) return std::nullopt;
  const std::string report = LaunchReport(plan_, launched_);
  status_.set_report(report);
  Log(LogLevel::kError, report);
  return exit_code;
}

bool Job::PassesPreflight() {
  const v1::Diagnosis diagnosis = diagnosis::Diagnose(preflight_->EvidenceFrom(launched_));
  preflight_.reset();
  if (diagnosis::IsBad(diagnosis)) {
    Log(LogLevel::kError,
        "nothing was started, because of what was found on the nodes:\n" +
            diagnosis::FindingsAsText(diagnosis, v1::VERDICT_BAD) +
            "\n`autodist doctor` looks closer; --no-preflight starts all the same");
    return false;
  }
  const std::string warnings = diagnosis::FindingsAsText(diagnosis, v1::VERDICT_WARNING);
  if (!warnings.empty()) Log(LogLevel::kWarning, "found on the nodes:\n" + warnings);
  return true;
}

Status Job::OpenOutput(Attempt& attempt) {
  std::error_code error;
  std::filesystem::create_directories(attempt.folder, error);
  if (error) return ErrnoError(error.value(), "making the folder " + attempt.folder);
  const std::vector<uint32_t>& members = attempt.members;
  auto output = OutputWriter::Create(attempt.plan, attempt.folder, options_.prefixes,
                                     [this, &members](uint32_t rank, const v1::OutputAck& ack) {
                                       v1::ChiefMessage message;
                                       *message.mutable_output_ack() = ack;
                                       watch_->node(members[rank]).Tell(std::move(message));
                                     });
  AD_RETURN_IF_ERROR(output.status());
  const std::lock_guard lock(output_mutex_);
  attempt.output = *std::move(output);
  return OkStatus();
}

// All members are ready: the ranks start.
void Job::BeginAttempt() {
  status_.set_attempt(attempt_->number);
  status_.set_world_size(attempt_->plan.world_size());
  status_.set_processes(0);
  for (const v1::NodePlan& node : attempt_->plan.nodes()) {
    status_.set_processes(status_.processes() + static_cast<uint32_t>(node.ranks_size()));
  }
  status_.set_attempt_folder(std::filesystem::absolute(attempt_->folder));
  last_sign_of_life_ns_ = Deadline::Clock::now().time_since_epoch().count();
  hang_told_ = false;
  cut_off_.clear();
  attempt_->began = Deadline::Clock::now();
  if (attempt_->number == 0 && options_.on_running) options_.on_running();
  v1::ChiefMessage start;
  start.mutable_start();
  for (const uint32_t node : attempt_->members) {
    watch_->state(node).Running();
    watch_->node(node).Order(start);
  }
  EnterPhase(v1::JOB_PHASE_RUNNING, "");
}

void Job::RunAttempt() {
  bool ending = false;
  while (!AttemptIsOver() && !given_up_) {
    if (attempt_->state.cause() && !std::exchange(ending, true)) {
      end_limit_ = Deadline::After(options_.launch.grace + kEndLimit);
    }
    if (ending && EndIsOverdue()) {
      messages_.Tell(LogLevel::kWarning,
                     base::Count(attempt_->state.running(), "rank") +
                         " cannot be ended, not by SIGKILL either; waiting no longer");
      overdue_ = true;
      return;
    }
    Step(ending ? end_limit_ : Deadline::Never());
  }
}

// Whether what is ending has had its time. As long as output arrives or waits for the terminal, it
// is not the agents that are slow; and who is cut off may come back.
bool Job::EndIsOverdue() {
  const OutputWriter* const output = attempt_->output.get();
  if (output && (output->Busy() || output->written() != end_written_)) {
    end_written_ = output->written();
    end_limit_ = std::max(end_limit_, Deadline::After(kEndLimit));
  }
  bool waiting = false;
  for (uint32_t i = 0; i < watch_->size(); ++i) waiting |= watch_->state(i).reconnecting();
  // It has not been told to end yet.
  if (waiting) end_limit_ = Deadline::After(options_.launch.grace + kEndLimit);
  return end_limit_.Expired();
}

// No rank runs any more on any node that answers, or may answer again and is needed.
bool Job::AttemptIsOver() const {
  const JobState& state = attempt_->state;
  if (state.AllEnded()) return true;
  if (!state.cause() || options_.restarts.min_nodes == 0) return false;
  uint32_t cut_off = 0;
  for (size_t i = 0; i < attempt_->members.size(); ++i) {
    const bool connected = watch_->Connected(attempt_->members[i]);
    if (!connected) ++cut_off;
    if (connected && state.RunningOn(static_cast<uint32_t>(i)) > 0) return false;
  }
  return attempt_->members.size() - cut_off >= options_.restarts.min_nodes;
}

// Ends whatever is left of the attempt on all nodes, and with `leave` the agents, too.
void Job::End(bool leave) {
  leaving_ = leave;
  if (leave && status_.phase() == v1::JOB_PHASE_RUNNING) EnterPhase(v1::JOB_PHASE_STOPPING, "");
  const milliseconds grace = options_.launch.grace;
  for (uint32_t i = 0; i < watch_->size(); ++i) watch_->state(i).Stopping();
  watch_->OrderAll(GraceOrder(grace, leave));
  const auto over = [&](uint32_t node) {
    const NodeState& state = watch_->state(node);
    if (!state.alive()) return true;
    return !leave && (attempt_over_on_.contains(node) || state.reconnecting());
  };
  const auto all_over = [&] {
    for (uint32_t i = 0; i < watch_->size(); ++i) {
      if (!over(i)) return false;
    }
    return true;
  };
  end_limit_ = Deadline::After((overdue_ ? milliseconds(0) : grace) + kEndLimit);
  while (!all_over() && !given_up_ && !EndIsOverdue()) Step(end_limit_);
  if (!leave) return;
  const Deadline gone = Deadline::After(given_up_ ? milliseconds(0) : kGoneLimit);
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    const std::string& address = plan_.nodes(static_cast<int>(i)).address();
    const auto link = watch_->node(i).link();
    if (!over(i)) {
      messages_.Tell(LogLevel::kWarning,
                     address + ": the agent does not confirm that the job has ended there");
    } else if (watch_->state(i).phase() == v1::NODE_PHASE_ENDED && link &&
               !link->WaitClosed(gone)) {
      messages_.Tell(LogLevel::kWarning, address + ": the agent has not gone");
    }
  }
}

// Before anything has run.
void Job::StopLaunching() {
  if (!leaving_) {
    if (launcher_) launcher_->Cancel();
  } else if (!std::exchange(hurried_, true)) {
    impatience_ = Deadline::After(kImpatience);
    watch_->OrderAll(GraceOrder(milliseconds(0), true));
  } else {
    given_up_ = true;
  }
}

int Job::Finish() {
  // Nothing is left but to write what has come; Ctrl-C may end that if nobody reads it.
  finishing_since_ = Deadline::Clock::now().time_since_epoch().count();
  const int exit_code = exit_code_ = attempt_->state.ExitCode();
  attempt_->output->Finish();
  if (stacks_) FinishLooking();
  messages_.Finish();
  const std::string report = EndReport(*attempt_);
  status_.set_exit_code(exit_code);
  status_.set_report(report);
  status_.set_ended_ms(base::MillisecondsSince1970());
  EnterPhase(v1::JOB_PHASE_ENDED, report);
  if (!report.empty()) Log(exit_code == 0 ? LogLevel::kWarning : LogLevel::kError, report);
  return exit_code;
}

}  // namespace autodist::chief
