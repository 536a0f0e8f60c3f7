// Job: what happens to it while it runs.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "base/signal_name.h"
#include "chief/attempt/report.h"
#include "chief/job.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using Action = StopPolicy::Action;

constexpr uint32_t kMostWarnings = 20;        // of a node
constexpr milliseconds kSuspendLimit{2'000};  // for the nodes to hear of it

v1::ChiefMessage SignalMessage(int signal) {
  v1::ChiefMessage message;
  message.mutable_signal()->set_signal(signal);
  return message;
}

}  // namespace

void Job::OnMemberEvent(uint32_t member, const v1::AgentEvent& event) {
  if (event.has_rank_stacks()) return hang_.Take(member, event.rank_stacks());
  input_.Take(member, event);
  if (event.has_input_taken()) return hang_.Alive(loop_->Now());
  Attempt::Outcome outcome = attempt_->Take(member, event);
  snapshot_.Take(event, *attempt_);
  if (outcome.sign_of_life) hang_.Alive(loop_->Now());
  if (outcome.to_record) {
    outcome.to_record->set_node(attempt_->member_plan(member).address());
    recorder_.Record(*std::move(outcome.to_record));
  }
  if (!outcome.stop) return;
  if (MayBeMissing(*attempt_)) {
    looks_for_missing_ = true;
    return hang_.LookForMissing(*attempt_);
  }
  RankFailed();
}

void Job::RankFailed() {
  looks_for_missing_ = false;
  StopAttempt();
  if (attempt_->logs) console_.ShowErrorsOf(attempt_->logs, attempt_->state().cause()->exit.rank());
  // One that has aborted counts as running, and ends by itself.
  const uint32_t aborting = attempt_->state().cause()->abort ? 1 : 0;
  if (attempt_->state().running() == aborting) return;
  console_.Tell(LogLevel::kInfo, DescribeCause(*attempt_->state().cause(), attempt_->plan()) +
                                     "; the other ranks are told to end");
}

void Job::OnWarning(uint32_t node, const std::string& what) {
  const uint32_t warnings = ++warnings_of_[node];
  if (warnings > kMostWarnings) return;
  const std::string& address = plan_.nodes(static_cast<int>(node)).address();
  const std::string last = warnings == kMostWarnings ? "; no more warnings of it are shown" : "";
  console_.Tell(LogLevel::kWarning, address + ": " + what + last);
  attempt_->warnings.push_back(address + ": " + what);
  recorder_.Record(what, address);
}

void Job::OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why, bool drained) {
  hang_.NodeIsGone(node);
  if (recorder_.phase() == v1::JOB_PHASE_LAUNCHING) return;  // the launch tells of it
  const std::string& address = plan_.nodes(static_cast<int>(node)).address();
  const size_t number = lost_.Add(0, loop_->Now(), [](int, size_t) {});
  const std::string last = number == lost_.kMost ? "; further nodes are not listed" : "";
  if (number <= lost_.kMost) {
    console_.Tell(LogLevel::kWarning, address + " is lost: " + Message(why) + last);
  }
  if (!member) return;
  if (number <= lost_.kMost && !drained && attempt_->state().RunningOn(*member) == 0) {
    attempt_->warnings.push_back("the ranks on " + address +
                                 " had ended, but the last that they wrote may be missing");
  }
  if (attempt_->NodeLost(*member, why)) StopAttempt();
}

void Job::OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) {
  if (recorder_.phase() == v1::JOB_PHASE_LAUNCHING || !member) return;
  const std::string& address = plan_.nodes(static_cast<int>(node)).address();
  console_.Tell(LogLevel::kWarning, address + " is going: " + Message(why));
  if (attempt_->state().NodeTakenAway(*member, why)) StopAttempt();
}

void Job::OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) {
  v1::JobEvent event;
  event.set_node(plan_.nodes(static_cast<int>(node)).address());
  event.set_node_phase(phase);
  event.set_what(why);
  recorder_.Record(std::move(event));
  snapshot_.NodesChanged();
}

void Job::OnSample(uint32_t node, v1::NodeSample&& sample) {
  hang_.TakeSample(sample);
  snapshot_.TakeSample(node, std::move(sample));
}

void Job::GetBoard(uint64_t known, control::JobRequests::SnapshotAnswer answer) {
  loop_->Post(
      [this, known, answer = std::move(answer)] { answer(snapshot_.Answer(known, *attempt_)); });
}

void Job::GetHistory(int64_t since_ms, std::function<void(v1::History)> answer) {
  loop_->Post([this, since_ms, answer = std::move(answer)] { answer(snapshot_.Since(since_ms)); });
}

void Job::GetStatus(StatusAnswer answer) {
  loop_->Post([this, answer = std::move(answer)] {
    answer(recorder_.StatusNow(nodes_, *attempt_, output_.last_ms()));
  });
}

void Job::GetStacks(const v1::GetStacksRequest& request, StacksAnswer answer) {
  loop_->Post([this, whole = std::vector<uint32_t>(request.ranks().begin(), request.ranks().end()),
               records = request.flight_records(), answer = std::move(answer)] {
    if (const v1::JobPhase phase = recorder_.phase();
        phase == v1::JOB_PHASE_LAUNCHING || phase == v1::JOB_PHASE_RESTARTING) {
      return answer(
          Error(StatusCode::kFailedPrecondition, "no rank runs: the job is being started"));
    }
    hang_.AskForStacks(*attempt_, whole, records, answer);
  });
}

void Job::Fetch(const v1::FetchRequest& request, const std::stop_token& stop, FetchAnswer answer) {
  loop_->Post([this, request, stop, answer = std::move(answer)] {
    const v1::JobPhase phase = recorder_.phase();
    if (phase == v1::JOB_PHASE_LAUNCHING) {
      return answer(Error(StatusCode::kFailedPrecondition,
                          "there is nothing to fetch: the job is being started"));
    }
    if (leaving_) {
      return answer(
          Error(StatusCode::kFailedPrecondition, "the job ends, and its agents leave the nodes"));
    }
    fetch_.Start(request, stop, answer);
  });
}

// Null: nothing of ours is for a rank.
std::shared_ptr<OwnTerminal> Job::MakeOwnTerminal() {
  if (options_.own_input == JobOptions::OwnInput::kNone) return nullptr;
  OwnTerminal::Events events;
  events.give = [this](v1::TerminalInput input, bool end) {
    loop_->Post([this, input = std::move(input), end] { input_.Give(*own_terminal_, input, end); });
  };
  events.leave = [this] { Signal(SIGINT, "Enter ~."); };
  events.tell = [this](const std::string& text) { console_.Tell(LogLevel::kInfo, text); };
  return std::make_shared<OwnTerminal>(options_.request().stdin_rank(),
                                       options_.own_input == JobOptions::OwnInput::kTerminal,
                                       options_.log_folder.path(), std::move(events));
}

void Job::UseTerminal(std::shared_ptr<control::TerminalUser> user) {
  loop_->Post([this, user = std::move(user)] { input_.Use(user); });
}

void Job::Type(std::shared_ptr<control::TerminalUser> user, v1::TerminalInput input) {
  loop_->Post(
      [this, user = std::move(user), input = std::move(input)] { input_.Give(*user, input); });
}

void Job::LeaveTerminal(std::shared_ptr<control::TerminalUser> user) {
  loop_->Post([this, user = std::move(user)] { input_.Leave(*user); });
}

void Job::TakeSignal(int signal, const std::string& by, Loop::Time at) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2:
      return nodes_.SendToAll(SignalMessage(signal));
    case SIGTSTP:
      return Suspend();
    case SIGQUIT:
      if (recorder_.phase() != v1::JOB_PHASE_LAUNCHING) hang_.AskForStacks(*attempt_);
      return;
    default:
      return Interrupt(signal, by, at);
  }
}

// Stops all ranks, then this process, until it is continued; then continues them. That the attempt
// is to end meanwhile counts for more: a chief that stands still ends no ranks.
void Job::Suspend() {
  if (std::exchange(suspending_, true)) return;
  if (own_terminal_) own_terminal_->Suspend();
  nodes_.SendToAll(SignalMessage(SIGTSTP));
  nodes_.RenewAll();  // the answer shows that the node has received the message
  loop_->RunUntil([this] { return !suspending_ || nodes_.AllRenewed(); },
                  loop_->Now() + kSuspendLimit);
  if (std::exchange(suspending_, false)) {
    console_.Clear();
    kill(getpid(), SIGSTOP);
    nodes_.ResetSilenceTimers();
    stop_.Resumed(loop_->Now());
  }
  nodes_.SendToAll(SignalMessage(SIGCONT));
  input_.Resume();
  hang_.Alive(loop_->Now());
}

void Job::Interrupt(int signal, const std::string& by, Loop::Time at) {
  suspending_ = false;
  const bool first = stop_.signal() == 0;
  const Action action = stop_.Interrupted(signal, at, !by.empty());
  if (action == Action::kNone && !first) return;  // it came with the one before
  recorder_.ToldToStop();
  if (fetching_at_end_) {
    console_.Tell(LogLevel::kInfo,
                  (by.empty() ? base::SignalName(signal) : by) + ": no more files are fetched");
    return fetch_.Cancel();
  }
  const bool launching = recorder_.phase() == v1::JOB_PHASE_LAUNCHING;
  if (launching && action == Action::kStop) return starter_.Cancel();
  if (launching && action == Action::kKill) return nodes_.End(milliseconds(0), true);
  if (launching) return;
  const std::string name = by.empty() ? base::SignalName(signal) : by;
  recorder_.Record("told to stop by " + name);
  if (action == Action::kStop) {
    console_.Tell(LogLevel::kInfo, name + ": the ranks have " +
                                       base::Seconds(options_.launch.grace()) +
                                       " to end; once more kills them");
    if (attempt_->state().Interrupted(signal, by)) StopAttempt();
    if (looks_for_missing_) RankFailed();
  } else if (action == Action::kKill) {
    console_.Tell(LogLevel::kInfo, name + ": killing what is left");
    attempt_->state().Killed();
    nodes_.StopRanks(milliseconds(0));
  } else if (action == Action::kGiveUp) {
    console_.Tell(LogLevel::kInfo, name + ": waiting no longer");
  } else if (first) {
    attempt_->state().Interrupted(signal, by);  // it may be for this that a node was taken away
    console_.Tell(LogLevel::kInfo,
                  name + ": the job is not started again; once more kills what is left");
  }
}

// There is a cause: the ranks that are left are told to end.
void Job::StopAttempt() {
  suspending_ = false;
  stop_.AttemptEnds();
  recorder_.EnterPhase(v1::JOB_PHASE_STOPPING,
                       DescribeCause(*attempt_->state().cause(), attempt_->plan()));
  snapshot_.Stops(*attempt_);
  nodes_.StopRanks(options_.launch.grace());
}

// Does what is due; returns when to be called again.
Loop::Time Job::Deadlines() {
  if (loop_->Now() >= timeout_at_) {
    timeout_at_ = Loop::Time::max();
    stop_.TimedOut();
    if (attempt_->state().TimedOut()) StopAttempt();
  }
  hang_.Wrote(output_.last());
  const bool stop = hang_.StopIsDue();
  snapshot_.RanksHang(hang_.hung_since());
  if (stop && looks_for_missing_) {
    attempt_->missing = hang_.missing();
    RankFailed();
  }
  if (stop && attempt_->state().Hung()) StopAttempt();
  const bool running = recorder_.phase() == v1::JOB_PHASE_RUNNING;
  if (running && hang_.Hangs(*attempt_)) {
    recorder_.Record("no rank gave a sign of life for " + base::Seconds(hang_.limit()));
  }
  const Loop::Time snapshot_at = snapshot_.Tick(*attempt_);
  if (const auto step = snapshot_.step_time()) hang_.StepTakes(*step);
  const Loop::Time limit = stop_.end_limit();
  return std::min({timeout_at_, snapshot_at, hang_.next(running),
                   limit > loop_->Now() ? limit : Loop::Time::max()});
}

}  // namespace autodist::chief
