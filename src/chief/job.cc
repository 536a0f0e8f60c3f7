#include "chief/job.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/signal_name.h"
#include "chief/attempt/report.h"
#include "chief/fetch/fetch_text.h"
#include "plan/plan_text.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// How long agents may take to end themselves.
constexpr milliseconds kGoneLimit{3'000};
// For nodes that answer to hear that autodist waits no longer, and for a terminal then.
constexpr milliseconds kLastWordLimit{500};
// At signals meanwhile.
constexpr milliseconds kLookInterval{100};
// A signal that comes sooner after the end was meant for the job.
constexpr milliseconds kFinishLimit{1'000};

JobOptions Completed(JobOptions options, Console& console) {
  if (options.view.json) {
    options.print_json = [&console](std::string line) { console.Print(std::move(line)); };
  }
  return options;
}

// Blocks, but not signals that say to wait no longer.
bool HasGone(launch::NodeLink& link, base::Deadline limit, Loop& loop, const StopPolicy& stop) {
  while (!link.WaitClosed(std::min(limit, base::Deadline::After(kLookInterval)))) {
    if (limit.Expired()) return false;
    loop.RunUntil([&] { return stop.given_up(); }, loop.Now() + milliseconds(1));
    if (stop.given_up()) return true;
  }
  return true;
}

}  // namespace

Job::Job(const v1::LaunchPlan& plan, JobOptions options, std::unique_ptr<Loop> loop)
    : plan_(plan),
      options_(Completed(std::move(options), console_)),
      loop_(loop ? std::move(loop) : std::make_unique<Loop>()),
      stop_(options_.launch.grace(), options_.launch.lease(),
            RestartLimitsOf(options_.request()).MayRestart()),
      signals_(std::in_place, [this](int signal) { Signal(signal); }),
      console_(
          [this](uint32_t node, const v1::OutputAck& ack) { nodes_.node(node).Acknowledge(ack); }),
      output_(*loop_, console_),
      nodes_(plan_, options_.launch.lease(), *loop_, output_, console_, *this),
      starter_(plan_, options_, *loop_, stop_, nodes_, console_),
      attempt_(starter_.FirstAttempt()),
      recorder_(plan_, options_, *loop_),
      snapshot_(options_, *loop_, nodes_, output_, recorder_,
                [this](const IssueWarning& warning) {
                  console_.Tell(LogLevel::kWarning, warning.what);
                  recorder_.Record(warning.what, warning.address);
                }),
      hang_(options_, *loop_, nodes_, console_),
      own_terminal_(MakeOwnTerminal()),
      input_(
          [this](uint32_t node, v1::ChiefMessage message) {
            nodes_.node(node).SendReliably(std::move(message));
          },
          own_terminal_),
      fetch_(plan_, options_.log_folder, *loop_, nodes_,
             [this](uint32_t node) { return nodes_.node(node).link(); }) {
  ::signal(SIGPIPE, SIG_IGN);
  loop_->BeforeWaiting([this] { return Deadlines(); });
}

// Whatever may call the nodes, or be called by them, ends before they do.
Job::~Job() {
  fetch_.Finish();
  input_.EndAttempt();
  starter_.Stop();
  nodes_.DisconnectAtExit();
  console_.Finish();
  loop_->DrainBackground();
  signals_.reset();
}

void Job::Signal(int signal, const std::string& by) {
  const Loop::Time at = loop_->Now();
  if (const Loop::Time since = finishing_.since; since != Loop::Time{}) {
    if (at - since > kFinishLimit) _exit(finishing_.exit_code);
    return;
  }
  loop_->PostFirst([this, signal, by, at] { TakeSignal(signal, by, at); });
}

int Job::Run() {
  const Loop::Time began = loop_->Now();
  const Status opened = recorder_.Open();
  if (!opened.ok()) {
    base::LogFailure(opened);
    return kExitCannotLaunch;
  }
  recorder_.EnterPhase(v1::JOB_PHASE_LAUNCHING, "");
  recorder_.Publish(nodes_, *attempt_);
  auto started = starter_.Start(0);
  if (const auto* refused = std::get_if<NotStarted>(&started)) {
    console_.Tell(LogLevel::kError, refused->report);
    End(true);
    return Finish(refused->exit_code, refused->report, began);
  }
  if (const double timeout = options_.request().timeout(); timeout > 0) {
    timeout_at_ = loop_->Now() + base::ToMilliseconds(timeout);
  }
  BeginAttempt(std::get<std::unique_ptr<Attempt>>(std::move(started)));
  do {
    RunAttempt();
  } while (Restart());
  FetchAtEnd();
  End(true);
  return Finish(attempt_->state().ExitCode(), "", began);
}

// All members are ready: the ranks start.
void Job::BeginAttempt(std::unique_ptr<Attempt> attempt) {
  hang_.Finish();  // of the one before, as below
  looks_for_missing_ = false;
  output_.End();
  if (attempt->number() == 0) attempt->warnings = std::move(attempt_->warnings);
  attempt_ = std::move(attempt);
  output_.Begin(attempt_->logs, attempt_->plan(), attempt_->nodes());
  attempt_->began = loop_->Now();
  recorder_.BeginAttempt(*attempt_);
  snapshot_.BeginAttempt();
  stop_.AttemptBegins();
  hang_.BeginAttempt();
  input_.BeginAttempt(*attempt_);
  // Said before anything a rank writes can be seen.
  if (attempt_->number() > 0) {
    console_.Tell(LogLevel::kInfo, "attempt " + std::to_string(attempt_->number() + 1) + ": " +
                                       plan::WhatRuns(attempt_->plan()) + "; logs in " +
                                       attempt_->folder());
  }
  nodes_.BeginAttempt(attempt_->nodes());
  recorder_.EnterPhase(v1::JOB_PHASE_RUNNING, "");
  recorder_.Publish(nodes_, *attempt_);
  nodes_.StartRanks();
  for (uint32_t member = 0; member < attempt_->nodes().size(); ++member) {
    const uint32_t node = attempt_->nodes()[member];
    if (!nodes_.state(node).alive())
      OnLost(node, member, nodes_.lost_because(node), false);  // meanwhile
  }
}

void Job::RunAttempt() {
  AwaitAttempt();
  input_.EndAttempt();
}

void Job::AwaitAttempt() {
  loop_->RunUntil(
      [this] { return AttemptIsOver() || stop_.given_up() || attempt_->state().cause(); });
  if (AwaitEnd(false, [this] { return AttemptIsOver(); })) return;
  console_.Tell(LogLevel::kWarning,
                base::Count(attempt_->state().running(), "rank") +
                    (nodes_.AnyDisconnected() ? " may not have ended, as a node does not answer"
                                              : " cannot be ended, not by SIGKILL either") +
                    "; waiting no longer");
  stop_.GraceIsOver();
}

// No rank runs any more on any node that answers, or may answer again and is needed.
bool Job::AttemptIsOver() {
  const JobState& state = attempt_->state();
  if (state.AllEnded()) return true;
  const uint32_t min_nodes = options_.request().min_nodes();
  if (!state.cause() || min_nodes == 0) return false;
  const std::vector<uint32_t>& members = attempt_->nodes();
  const auto connected = [this](uint32_t node) { return nodes_.Connected(node); };
  return none_runs_(members.size(),
                    [&](size_t member) {
                      return state.RunningOn(static_cast<uint32_t>(member)) == 0 ||
                             !connected(members[member]);
                    }) &&
         std::ranges::count_if(members, connected) >= min_nodes;
}

// Until it is over or given up; false: what is ending has had its time.
bool Job::AwaitEnd(bool leave, const std::function<bool()>& over) {
  bool overdue = false;
  const auto ended = [&] {
    if (over() || stop_.given_up()) return true;
    return overdue = stop_.EndIsOverdue(
               loop_->Now(), {console_.Busy(), console_.written(), nodes_.AnyDisconnected()});
  };
  stop_.BeginEnd(loop_->Now(), leave);
  while (!loop_->RunUntil(ended, stop_.end_limit())) {
  }
  return !overdue;
}

bool Job::Restart() {
  if (!attempt_->state().cause() || stop_.requested() || !AttemptIsOver()) return false;
  // What the first rank wrote may come later than that it ended.
  if (starter_.MayHaveLostPortRace(*attempt_)) End(false);
  const auto wait = starter_.RestartWait(*attempt_);
  if (!wait) return false;
  const std::string cause = DescribeCauseInWords(*attempt_);
  recorder_.EnterPhase(v1::JOB_PHASE_RESTARTING, cause);
  snapshot_.Launches();
  console_.Tell(LogLevel::kInfo, "restarting in " + base::Seconds(*wait) + ", because " + cause);
  End(false);
  loop_->RunUntil([this] { return stop_.requested(); }, loop_->Now() + *wait);
  auto started = starter_.Start(attempt_->number() + 1);
  if (const auto* refused = std::get_if<NotStarted>(&started)) {
    if (!stop_.requested()) console_.Tell(LogLevel::kError, refused->report);
    nodes_.StopRejoining();
    return false;  // the cause stays
  }
  BeginAttempt(std::get<std::unique_ptr<Attempt>>(std::move(started)));
  return true;
}

// What the ranks have left comes here before the agents go; also what somebody is waiting for. That
// takes its time, which a signal ends.
void Job::FetchAtEnd() {
  const v1::JobRequest& request = options_.request();
  const bool wanted = request.fetch_size() > 0;
  if (stop_.killing()) fetch_.Cancel();
  if (!wanted && !fetch_.busy()) return;
  recorder_.EnterPhase(v1::JOB_PHASE_STOPPING, "");
  if (!stop_.killing()) End(false);
  fetching_at_end_ = true;
  const auto over = [this] { return !fetch_.busy() || stop_.given_up(); };
  loop_->RunUntil(over);
  if (wanted && !stop_.killing()) {
    console_.Tell(LogLevel::kInfo, "fetching files from the nodes; Ctrl-C ends that");
    v1::FetchRequest order;
    *order.mutable_patterns() = request.fetch();
    order.set_most_bytes(request.max_size());
    fetch_.Start(order, {}, [this](const Result<v1::JobFiles>& files) {
      if (!files.ok()) return console_.Tell(LogLevel::kError, base::FailureText(files.status()));
      for (Remark& remark : FetchText(*files)) {
        console_.Tell(remark.level, std::move(remark.text));
      }
    });
    loop_->RunUntil(over);
  }
  fetching_at_end_ = false;
  stop_.Resumed(loop_->Now());
}

// Ends whatever is left of the attempt on all nodes, and with `leave` the agents, too.
void Job::End(bool leave) {
  if (leave && recorder_.phase() == v1::JOB_PHASE_RUNNING) {
    recorder_.EnterPhase(v1::JOB_PHASE_STOPPING, "");
    snapshot_.Stops(*attempt_);
  }
  stop_.AttemptEnds();
  leaving_ = leave;
  nodes_.End(stop_.killing() ? milliseconds(0) : options_.launch.grace(), leave);
  const auto over = [&](uint32_t node) {
    const NodeMachine& state = nodes_.state(node);
    if (!state.alive()) return true;
    return !leave && (nodes_.state(node).drained() || state.disconnected());
  };
  AwaitEnd(leave, [&] { return nodes_.All(over); });
  if (!leave) return;
  if (stop_.given_up()) {
    const auto told = [&](uint32_t node) { return over(node) || !nodes_.Connected(node); };
    loop_->RunUntil([&] { return nodes_.All(told); }, loop_->Now() + kLastWordLimit);
  }
  const auto left = std::chrono::duration_cast<milliseconds>(stop_.must_end() - loop_->Now());
  const auto gone = base::Deadline::After(
      stop_.given_up() ? milliseconds(0) : std::clamp(left, milliseconds(0), kGoneLimit));
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::string& address = plan_.nodes(static_cast<int>(i)).address();
    const auto link = nodes_.node(i).link();
    if (!over(i)) {
      console_.Tell(LogLevel::kWarning,
                    address +
                        ": the agent does not confirm that the job has ended there; what may "
                        "be left ends with its lease, or by `autodist clean`");
    } else if (!stop_.given_up() && nodes_.state(i).phase() == v1::NODE_PHASE_ENDED && link &&
               !HasGone(*link, gone, *loop_, stop_)) {
      console_.Tell(LogLevel::kWarning, address + ": the agent has not gone");
    }
  }
}

// Nothing is left but to write what has come; Ctrl-C may end that if nobody reads it.
int Job::Finish(int exit_code, const std::string& refusal, Loop::Time began) {
  finishing_.exit_code = exit_code;
  finishing_.since = loop_->Now();
  if (refusal.empty()) verdict_ = Verdict(*attempt_);
  output_.End();
  hang_.Finish();
  if (looks_for_missing_) attempt_->missing = hang_.missing();
  loop_->DrainBackground();
  // Who waits no longer, does not wait for a paused terminal either.
  finishing_.blocked = stop_.given_up() && !console_.FinishWithin(kLastWordLimit);
  if (!finishing_.blocked) console_.Finish();
  const std::string report = finishing_.blocked ? "its terminal took nothing"
                             : refusal.empty()  ? EndReport(*attempt_, console_.warnings())
                                                : refusal;
  recorder_.Ended(exit_code, report, output_.last_ms());
  snapshot_.End(*attempt_);
  recorder_.Publish(nodes_, *attempt_);
  if (refusal.empty() && snapshot_.missed_checkpoints() && !finishing_.blocked) {
    base::Log(LogLevel::kWarning,
              "--checkpoint-dir " + options_.request().checkpoint_dir() +
                  " cannot be read on this machine: no training could be counted as lost");
  }
  if (!report.empty() && refusal.empty() && !finishing_.blocked) {
    base::Log(exit_code == 0 ? LogLevel::kWarning : LogLevel::kError, report);
  }
  if (refusal.empty() && !finishing_.blocked) {
    const auto elapsed = std::chrono::duration_cast<milliseconds>(loop_->Now() - began);
    base::Log(LogLevel::kInfo,
              LastLine(*attempt_, exit_code, elapsed, snapshot::Goodput(snapshot_.ledger())));
  }
  loop_->DrainBackground();
  return exit_code;
}

}  // namespace autodist::chief
