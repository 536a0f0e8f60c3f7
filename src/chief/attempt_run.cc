#include "chief/attempt_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/a_few_of.h"
#include "base/quantity.h"
#include "base/wall_clock.h"
#include "chief/attempt/report.h"
#include "plan/plan_text.h"

namespace autodist::chief {
namespace {

using base::LogLevel;

constexpr uint32_t kMaxWarnings = 20;  // per node
// Spares that are lost within this time are reported together.
constexpr std::chrono::milliseconds kLostTogether{1'000};
// For the message of a rank that failed. An agent sends output up to 0.1 s after the rank's end.
constexpr std::chrono::milliseconds kOutputLimit{300};
constexpr std::chrono::milliseconds kOutputPause{20};  // between looks at it

}  // namespace

void AttemptRun::Begin(std::unique_ptr<Attempt> attempt, const RankLedger::Clearance& clearance) {
  JobParts& parts = parts_;
  parts.diagnoser.EndAttempt();  // of the previous attempt, as below
  parts.hang.Finish();
  parts.output.End();
  if (attempt->number() == 0) attempt->warnings = std::move(attempt_->warnings);
  attempt_ = std::move(attempt);
  parts.output.Begin(attempt_->logs, attempt_->plan(), attempt_->nodes());
  attempt_->began = parts.loop->Now();
  const double timeout = parts.options.request().timeout();
  if (timeout > 0 && attempt_->number() == 0) {
    timeout_at_ = attempt_->began + base::ToMilliseconds(timeout);
  }
  parts.recorder.BeginAttempt(*attempt_);
  parts.snapshot.BeginAttempt();
  parts.history.BeginAttempt();
  parts.stop.AttemptBegins();
  parts.hang.BeginAttempt();
  parts.input.BeginAttempt(*attempt_);
  // Logged before any output of a rank.
  if (attempt_->number() > 0) {
    parts.console.Log(LogLevel::kInfo, "attempt " + std::to_string(attempt_->number() + 1) + ": " +
                                           plan::WhatRuns(attempt_->plan()) + "; logs in " +
                                           attempt_->folder());
  }
  parts.nodes.BeginAttempt(attempt_->nodes());
  parts.recorder.EnterPhase(v1::JOB_PHASE_RUNNING, "");
  parts.recorder.Publish(parts.nodes, *attempt_);
  parts.nodes.StartRanks(clearance);
  for (uint32_t member = 0; member < attempt_->nodes().size(); ++member) {
    const uint32_t node = attempt_->nodes()[member];
    if (!parts.nodes.state(node).alive()) {
      OnLost(node, member, parts.nodes.lost_because(node), false);  // lost meanwhile
    }
  }
}

void AttemptRun::Stop() {
  suspension_.Cancel();
  parts_.stop.AttemptEnds();
  parts_.recorder.EnterPhase(v1::JOB_PHASE_STOPPING,
                             Shortened(NameCause(*attempt_->state().cause(), attempt_->plan())));
  parts_.snapshot.Stops(*attempt_);
  parts_.nodes.StopRanks(parts_.options.launch.grace());
}

bool AttemptRun::NoneRunsOnConnected() {
  const std::vector<uint32_t>& members = attempt_->nodes();
  return none_runs_(members.size(), [&](size_t member) {
    return attempt_->state().RunningOn(static_cast<uint32_t>(member)) == 0 ||
           !parts_.nodes.Connected(members[member]);
  });
}

void AttemptRun::StopExplaining() {
  if (explains()) StopAfterFailure();
}

void AttemptRun::Finish() {
  parts_.diagnoser.EndAttempt();
  parts_.hang.Finish();
  ReportLostWithoutRanks();
}

void AttemptRun::RankFailed() {
  suspension_.Cancel();
  explanation_ = Explanation::kAwaitsOutput;
  output_by_ = parts_.loop->Now() + kOutputLimit;
  AwaitOutput();
}

void AttemptRun::AwaitOutput() {
  const Loop::Time now = parts_.loop->Now();
  if (now < output_by_ && OutputMayFollow(*attempt_)) {
    look_at_output_ = now + kOutputPause;
    return;
  }
  if (!MayBeMissing(*attempt_)) return StopAfterFailure();
  look_at_output_ = Loop::Time::max();
  explanation_ = Explanation::kLooksForMissing;
  parts_.hang.LookForMissing(*attempt_);
}

void AttemptRun::StopAfterFailure() {
  look_at_output_ = Loop::Time::max();
  if (std::exchange(explanation_, Explanation::kNone) == Explanation::kLooksForMissing) {
    parts_.hang.Finish();
    attempt_->missing = parts_.stacks.missing();
  }
  Stop();
  const Cause& cause = *attempt_->state().cause();
  const bool of_rank =
      cause.kind == Cause::Kind::kRankFailed;  // otherwise, its node is lost as well
  if (of_rank && attempt_->logs) parts_.console.ShowErrorsOf(attempt_->logs, cause.exit.rank());
  // A rank that called MPI_Abort counts as running, and ends by itself.
  const JobState& state = attempt_->state();
  std::vector<std::string> remaining;
  bool all_remain = true;
  for (const v1::NodePlan& node : attempt_->plan().nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary()) continue;
      const bool failed = of_rank && rank.rank() == cause.exit.rank();
      const bool remains = !failed && state.Runs(rank.rank());
      if (remains) remaining.push_back(rank.name());
      all_remain &= remains;
    }
  }
  if (remaining.empty()) return;
  const std::string which = remaining.size() == 1
                                ? remaining.front() + ", which has "
                                : (all_remain ? "the " : "the remaining ") +
                                      NounFor(remaining.size(), attempt_->plan()) + ", which have ";
  parts_.console.Log(LogLevel::kInfo,
                     Shortened(DescribeCause(cause, attempt_->plan())) + "; stopping " + which +
                         base::Elapsed(parts_.options.launch.grace()) + " to exit");
}

Loop::Time AttemptRun::Tick(bool may_restart) {
  JobState& state = attempt_->state();
  if (parts_.loop->Now() >= timeout_at_) {
    timeout_at_ = Loop::Time::max();
    const bool prevents = may_restart && !parts_.stop.requested();
    parts_.stop.TimedOut();
    StopExplaining();
    if (!state.cause()) {
      if (state.TimedOut()) Stop();
    } else if (prevents) {
      state.TimedOut();
      const std::string what = "--timeout expired: no further restart";
      parts_.console.Log(LogLevel::kInfo, what);
      parts_.recorder.Record(what);
    }
  }
  if (parts_.loop->Now() >= lost_without_ranks_.report_at) ReportLostWithoutRanks();
  HangResponse& hang = parts_.hang;
  hang.Alive(
      std::max({parts_.output.last(), parts_.output.last_progress(), parts_.loop->resumed()}));
  if (parts_.loop->Now() >= look_at_output_) AwaitOutput();
  const bool stop = hang.StopIsDue();
  parts_.snapshot.RanksHang(hang.hung_since());
  const bool looks = explanation_ == Explanation::kLooksForMissing;
  if (looks && (stop || !MayBeMissing(*attempt_))) StopAfterFailure();
  if (stop && state.Hung()) Stop();
  const bool running = parts_.recorder.phase() == v1::JOB_PHASE_RUNNING;
  if (running && !explains() && hang.Hangs(*attempt_)) {
    parts_.recorder.Record("no rank showed activity for " + base::Seconds(hang.limit()));
  }
  const Loop::Time history_at = parts_.history.Tick(*attempt_);
  if (const auto step = parts_.history.step_time()) hang.StepTakes(*step);
  const Loop::Time diagnosis_at = parts_.diagnoser.Tick(*attempt_, running, !hang.awaits_limit());
  return std::min({timeout_at_, look_at_output_, lost_without_ranks_.report_at, history_at,
                   hang.next(running && !explains()), diagnosis_at});
}

void AttemptRun::OnMemberEvent(uint32_t member, const v1::AgentEvent& event) {
  HangResponse& hang = parts_.hang;
  if (event.has_rank_stacks()) return parts_.stacks.Take(member, event.rank_stacks());
  parts_.input.Take(member, event);
  if (event.has_input_taken()) return hang.Alive(parts_.loop->Now());
  Attempt::Outcome outcome = attempt_->Take(member, event);
  parts_.snapshot.Take(event, *attempt_);
  if (event.has_rank_started()) {
    parts_.fetch.RankStarted(attempt_->nodes()[member], event.rank_started().time_ns());
  }
  if (outcome.sign_of_life) hang.Alive(parts_.loop->Now());
  if (outcome.to_record) {
    outcome.to_record->set_node(attempt_->member_plan(member).address());
    if (outcome.to_log &&
        left_.Add(0, parts_.loop->Now(), [](int, size_t) {}) <= RepeatLimit<int>::kMax) {
      parts_.console.Log(LogLevel::kInfo, outcome.to_record->what());
    }
    parts_.recorder.Record(*std::move(outcome.to_record));
  }
  if (outcome.stop) RankFailed();
}

void AttemptRun::OnWarning(uint32_t node, const std::string& what) {
  const uint32_t warnings = ++warnings_of_[node];
  if (warnings > kMaxWarnings) return;
  const std::string& address = parts_.AddressOf(node);
  const std::string last =
      warnings == kMaxWarnings ? "; further warnings of this node are not shown" : "";
  parts_.console.Log(LogLevel::kWarning, address + ": " + what + last);
  attempt_->warnings.push_back(address + ": " + what);
  parts_.recorder.Record(what, address);
}

void AttemptRun::OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why,
                        bool drained) {
  parts_.stacks.NodeIsGone(node);
  if (parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING) return;  // the launch reports it
  const std::string& address = parts_.AddressOf(node);
  if (!member) {
    if (lost_without_ranks_.addresses.empty()) {
      lost_without_ranks_ = {{}, Message(why), parts_.loop->Now() + kLostTogether};
    }
    return lost_without_ranks_.addresses.push_back(address);
  }
  const size_t number = lost_.Add(0, parts_.loop->Now(), [](int, size_t) {});
  const std::string last = number == lost_.kMax ? "; further nodes are not listed" : "";
  if (number <= lost_.kMax) {
    parts_.console.Log(LogLevel::kWarning, address + " is lost: " + Message(why) + last);
  }
  if (number <= lost_.kMax && !drained && attempt_->state().RunningOn(*member) == 0) {
    const bool one = attempt_->member_plan(*member).ranks_size() == 1;
    attempt_->warnings.push_back((one ? "the rank on " : "the ranks on ") + address +
                                 " had ended, but " + (one ? "its" : "their") +
                                 " last output may be missing");
  }
  const std::chrono::nanoseconds silent =
      parts_.loop->Now() - parts_.nodes.node(node).last_contact();
  const int64_t last_contact_ns = base::NanosecondsSince1970() - silent.count();
  if (attempt_->NodeLost(*member, why, last_contact_ns)) Stop();
}

void AttemptRun::ReportLostWithoutRanks() {
  const auto [addresses, why, report_at] = std::exchange(lost_without_ranks_, {});
  if (addresses.empty()) return;
  const std::string names = base::AFewOf(addresses);
  parts_.console.Log(LogLevel::kWarning,
                     addresses.size() == 1
                         ? names + " is lost: " + why + "; it had no ranks"
                         : names + " are lost; they had no ranks; " + addresses[0] + ": " + why);
}

void AttemptRun::OnEvicted(uint32_t node, std::optional<uint32_t> member, const Status& why) {
  if (parts_.recorder.phase() == v1::JOB_PHASE_LAUNCHING || !member) return;
  parts_.console.Log(LogLevel::kWarning,
                     parts_.AddressOf(node) + " is being evicted: " + Message(why));
  if (attempt_->state().NodeEvicted(*member, why)) Stop();
}

void AttemptRun::OnPhase(uint32_t node, v1::NodePhase phase, const std::string& why) {
  v1::JobEvent event;
  event.set_node(parts_.AddressOf(node));
  event.set_node_phase(phase);
  event.set_what(why);
  parts_.recorder.Record(std::move(event));
  parts_.snapshot.NodesChanged();
}

void AttemptRun::OnSample(uint32_t node, v1::NodeSample&& sample) {
  parts_.hang.TakeSample(sample);
  parts_.snapshot.TakeSample(node, std::move(sample));
}

}  // namespace autodist::chief
