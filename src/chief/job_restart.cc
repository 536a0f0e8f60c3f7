// Job: from one attempt to the next.
#include <algorithm>

#include "base/count.h"
#include "base/seconds.h"
#include "chief/job.h"
#include "plan/plan_text.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::LogLevel;
using std::chrono::milliseconds;

// How long a restart waits for nodes that it can do without.
constexpr milliseconds kSpareNodeLimit{3'000};
constexpr milliseconds kReachAgainInterval{1'000};
constexpr milliseconds kBrokenIsHeardLimit{1'000};

}  // namespace

std::optional<milliseconds> Job::RestartWait() {
  if (!attempt_->state.cause() || Unwanted() || !AttemptIsOver()) return std::nullopt;
  if (LostARaceForAPort()) {
    ++races_lost_;
    return milliseconds(0);
  }
  AttemptOutcome outcome{*attempt_->state.cause()};
  outcome.ran = attempt_->state.ran();
  for (uint32_t i = 0; i < watch_->size(); ++i) outcome.nodes_there += watch_->Connected(i) ? 1 : 0;
  for (const uint32_t node : attempt_->members) outcome.nodes_missing |= !watch_->Connected(node);
  outcome.lasted =
      std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - attempt_->began);
  return restarts_.Next(outcome);
}

bool Job::Restart(milliseconds wait) {
  EnterPhase(v1::JOB_PHASE_RESTARTING, DescribeCause(attempt_->state, attempt_->plan));
  attempt_->output->Say("restarting in " + base::Seconds(wait) + ", because " +
                        DescribeCause(attempt_->state, attempt_->plan));
  End(false);
  const Deadline until = Deadline::After(wait);
  while (!until.Expired() && !Unwanted()) Step(until);
  std::unique_ptr<Attempt> next = Unwanted() ? nullptr : NextAttempt();
  if (!next) {
    watch_->BringBackNoMore();
    return false;  // the cause stays
  }
  attempt_->output->Finish();
  {
    const std::lock_guard lock(output_mutex_);
    attempt_ = std::move(next);
  }
  messages_.Tell(LogLevel::kInfo, "attempt " + std::to_string(attempt_->number + 1) + ": " +
                                      plan::WhatRuns(attempt_->plan) + "; logs in " +
                                      attempt_->folder);
  return true;
}

std::unique_ptr<Attempt> Job::MakeAttempt(uint32_t number, v1::LaunchPlan plan,
                                          std::vector<uint32_t> members) {
  return std::make_unique<Attempt>(number, std::move(plan), std::move(members), options_.log_folder,
                                   options_.launch.stop_signal, options_.launch.grace,
                                   std::bind_front(&Job::AskForModex, this));
}

Result<std::unique_ptr<Attempt>> Job::PlanAttempt(uint32_t number,
                                                  const std::vector<uint32_t>& members) {
  std::vector<std::string> addresses;
  addresses.reserve(members.size());
  for (const uint32_t node : members) {
    addresses.push_back(plan_.nodes(static_cast<int>(node)).address());
  }
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, options_.plan_attempt(addresses, number));
  return MakeAttempt(number, std::move(plan), members);
}

std::unique_ptr<Attempt> Job::NextAttempt() {
  const uint32_t needed =
      options_.restarts.min_nodes > 0 ? options_.restarts.min_nodes : watch_->size();
  const uint32_t number = attempt_->number + 1;
  // Nodes may be lost while others are prepared.
  const uint32_t most = watch_->size() + kMostMoves;
  for (uint32_t tries = 0; tries <= most; ++tries) {
    const std::vector<uint32_t> members = GatherNodes();
    if (Unwanted() || members.size() < needed || members.empty() || members[0] != 0) break;
    auto planned = PlanAttempt(number, members);
    if (!planned.ok()) {
      messages_.Tell(LogLevel::kError, base::FailureText(Annotate(planned.status(), "restart")));
      break;
    }
    std::unique_ptr<Attempt> next = *std::move(planned);
    const auto prepared = PrepareNodes(*next);
    if (!prepared.ok()) continue;  // gather those that are still there
    if (LaunchExitCode(*prepared) != 0) {
      messages_.Tell(LogLevel::kError, LaunchReport(next->plan, *prepared));
      break;
    }
    if (!ports_taken_.empty() && CanMovePorts() && tries < most) continue;
    const Status ready = ports_taken_.empty() ? OpenOutput(*next) : PortsAreTaken();
    if (ready.ok()) return next;
    messages_.Tell(LogLevel::kError, base::FailureText(Annotate(ready, "restart")));
    break;
  }
  return nullptr;
}

bool Job::AllConnected(const std::vector<uint32_t>& nodes) const {
  return std::ranges::all_of(nodes, [this](uint32_t node) { return watch_->Connected(node); });
}

// The nodes of the next attempt: those that are there, and those that can be brought back.
std::vector<uint32_t> Job::GatherNodes() {
  uint32_t there = 0;
  for (uint32_t i = 0; i < watch_->size(); ++i) there += watch_->Connected(i) ? 1 : 0;
  const bool enough = options_.restarts.min_nodes > 0 && there >= options_.restarts.min_nodes;
  const Deadline limit = Deadline::After(enough ? kSpareNodeLimit : options_.launch.lease);
  for (;;) {
    BringBack(MissingNodes(enough), limit);
    EndOnReturned();
    if (MissingNodes(enough).empty() || limit.Expired() || Unwanted()) break;
    // An agent of before may have to end first.
    const Deadline again = std::min(limit, Deadline::After(kReachAgainInterval));
    while (!again.Expired() && !Unwanted()) Step(again);
  }
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (watch_->Connected(i) && attempt_over_on_.contains(i)) members.push_back(i);
  }
  return members;
}

// `enough`: the job can do without those that have just been tried in vain.
std::vector<uint32_t> Job::MissingNodes(bool enough) const {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (!watch_->Connected(i) && !(enough && cut_off_.contains(i))) missing.push_back(i);
  }
  return missing;
}

void Job::BringBack(const std::vector<uint32_t>& nodes, Deadline limit) {
  for (const uint32_t node : nodes) {
    if (watch_->state(node).alive()) continue;  // it is being connected with again
    attempt_over_on_.erase(node);               // it may still have ranks of an earlier attempt
    watch_->BringBack(node, limit);
  }
  const auto trying = [this](uint32_t node) { return watch_->BeingLinked(node); };
  while (std::ranges::any_of(nodes, trying) && !limit.Expired() && !Unwanted()) Step(limit);
}

// Who comes back may have ranks of before.
void Job::EndOnReturned() {
  const v1::ChiefMessage end = GraceOrder(options_.launch.grace, /*leave=*/false);
  std::vector<uint32_t> back;
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (!watch_->Connected(i) || attempt_over_on_.contains(i)) continue;
    watch_->node(i).Order(end);
    back.push_back(i);
  }
  const auto ended = [&](uint32_t node) {
    return attempt_over_on_.contains(node) || !watch_->Connected(node);
  };
  const Deadline limit = Deadline::After(options_.launch.grace + kSpareNodeLimit);
  while (!std::ranges::all_of(back, ended) && !limit.Expired() && !Unwanted()) Step(limit);
}

// The environment of the ranks is made anew on every node: much of it has changed.
Result<std::vector<launch::LaunchedNode>> Job::PrepareNodes(const Attempt& next) {
  const Status cut_off = WithRemedy(
      Error(StatusCode::kUnavailable, "the connection with a node broke before its ranks started"),
      "start the job again");
  for (const uint32_t node : next.members) {
    if (!watch_->node(node).link()) return cut_off;  // just now
  }
  std::vector<launch::LaunchedNode> prepared(next.members.size());
  size_t done = 0;
  for (size_t i = 0; i < next.members.size(); ++i) {
    const uint32_t node = next.members[i];
    watch_->node(node).BeginAttempt();
    attempt_over_on_.erase(node);
    watch_->state(node).Ready();
    launcher_->Prepare(
        node, next.plan.nodes(static_cast<int>(i)), next.pmix, watch_->node(node).link(),
        [this, i, &prepared, &done](launch::LaunchedNode launched) {
          mailbox_.Put([&prepared, &done, i,
                        shared = std::make_shared<launch::LaunchedNode>(std::move(launched))] {
            prepared[i] = std::move(*shared);
            prepared[i].node_rank = static_cast<uint32_t>(i);
            ++done;
          });
        });
  }
  while (done < next.members.size()) {
    Step();
    if (!Unwanted()) continue;
    for (const uint32_t node : next.members) {
      if (!watch_->BeingLinked(node)) launcher_->GiveUp(node);
    }
  }
  // That a connection is broken may be heard a little later than that a call failed with it.
  const bool unreached = std::ranges::any_of(
      prepared, [](const launch::LaunchedNode& node) { return !node.status.ok(); });
  const Deadline heard = Deadline::After(kBrokenIsHeardLimit);
  while (unreached && AllConnected(next.members) && !heard.Expired() && !Unwanted()) Step(heard);
  if (Unwanted() || !AllConnected(next.members)) return cut_off;
  ports_taken_ = PortsTaken(next.plan, prepared);
  return prepared;
}

}  // namespace autodist::chief
