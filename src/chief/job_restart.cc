// Job: from one attempt to the next.
#include <algorithm>
#include <filesystem>

#include "base/count.h"
#include "base/log.h"
#include "base/seconds.h"
#include "chief/job.h"
#include "chief/report.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::Log;
using base::LogLevel;
using std::chrono::milliseconds;

// How long a restart waits for nodes that it can do without.
constexpr milliseconds kSpareNodeLimit{3'000};

}  // namespace

std::optional<milliseconds> Job::RestartWait() {
  if (!attempt_->state.cause() || given_up_ || timed_out_) return std::nullopt;
  AttemptOutcome outcome{*attempt_->state.cause()};
  outcome.ran = attempt_->state.ran();
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (watch_->Connected(i)) {
      ++outcome.nodes_there;
    } else {
      outcome.nodes_missing = true;
    }
  }
  outcome.lasted =
      std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - attempt_->began);
  return restarts_.Next(outcome);
}

bool Job::Restart(milliseconds wait) {
  EnterPhase(v1::JOB_PHASE_RESTARTING, DescribeCause(attempt_->state, attempt_->plan));
  attempt_->output->Say("restarting in " + base::Seconds(wait) + ", because " +
                        DescribeCause(attempt_->state, attempt_->plan));
  End(false);
  if (!WaitForRestart(wait)) return false;
  const std::vector<uint32_t> members = GatherNodes();
  const uint32_t needed =
      options_.restarts.min_nodes > 0 ? options_.restarts.min_nodes : watch_->size();
  if (members.size() < needed || members.empty() || members[0] != 0 || interrupted_by_ != 0) {
    return false;  // the cause stays
  }
  std::vector<std::string> addresses;
  addresses.reserve(members.size());
  for (const uint32_t node : members) {
    addresses.push_back(plan_.nodes(static_cast<int>(node)).address());
  }
  const uint32_t number = attempt_->number + 1;
  auto plan = options_.plan_attempt(addresses, number);
  if (!plan.ok()) {
    base::LogFailure(Annotate(plan.status(), "restart"));
    return false;
  }
  auto next = std::make_unique<Attempt>(number, *std::move(plan), members, options_.log_folder,
                                        options_.launch.stop_signal, options_.launch.grace);
  if (!PrepareNodes(*next)) return false;
  attempt_->output->Finish();
  {
    const std::lock_guard lock(output_mutex_);
    attempt_ = std::move(next);
  }
  Log(LogLevel::kInfo, "attempt " + std::to_string(number + 1) + ": " +
                           base::Count(attempt_->plan.world_size(), "rank") + " on " +
                           base::Count(members.size(), "node") + "; logs in " + attempt_->folder);
  const Status begun = BeginAttempt();
  if (!begun.ok()) base::LogFailure(begun);
  return begun.ok();
}

// False when the person wants no more.
bool Job::WaitForRestart(milliseconds wait) {
  const Deadline until = Deadline::After(wait);
  const auto wanted = [this] { return interrupted_by_ == 0 && !timed_out_; };
  while (!until.Expired() && wanted()) Step(until);
  return wanted();
}

// The nodes of the next attempt: those that are there, and those that can be brought back.
std::vector<uint32_t> Job::GatherNodes() {
  const milliseconds lease = options_.launch.lease;
  uint32_t there = 0;
  for (uint32_t i = 0; i < watch_->size(); ++i) there += watch_->Connected(i) ? 1 : 0;
  const bool enough = options_.restarts.min_nodes > 0 && there >= options_.restarts.min_nodes;
  const Deadline limit = Deadline::After(enough ? kSpareNodeLimit : lease);
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    const bool just_tried = enough && cut_off_.contains(i);
    if (!watch_->state(i).alive() && !just_tried) watch_->BringBack(i, limit);
  }
  const auto waiting = [&] {
    for (uint32_t i = 0; i < watch_->size(); ++i) {
      if (watch_->BringingBack(i)) return true;
    }
    return false;
  };
  while (waiting() && !limit.Expired() && interrupted_by_ == 0) Step(limit);

  // Who comes back may still have ranks of an earlier attempt.
  v1::ChiefMessage end;
  end.mutable_end()->set_grace_ms(static_cast<uint32_t>(options_.launch.grace.count()));
  std::vector<uint32_t> back;
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (!watch_->Connected(i) || attempt_over_on_.contains(i)) continue;
    watch_->node(i).Order(end);
    back.push_back(i);
  }
  const auto ended = [&](uint32_t node) {
    return attempt_over_on_.contains(node) || !watch_->Connected(node);
  };
  const Deadline end_limit = Deadline::After(options_.launch.grace + kSpareNodeLimit);
  while (!std::ranges::all_of(back, ended) && !end_limit.Expired()) Step(end_limit);

  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < watch_->size(); ++i) {
    if (watch_->Connected(i) && attempt_over_on_.contains(i)) members.push_back(i);
  }
  return members;
}

// The environment of the ranks is made anew on every node: much of it has changed.
bool Job::PrepareNodes(const Attempt& next) {
  for (const uint32_t node : next.members) {
    if (!watch_->node(node).link()) return false;  // cut off just now
  }
  std::vector<LaunchedNode> prepared(next.members.size());
  size_t done = 0;
  for (size_t i = 0; i < next.members.size(); ++i) {
    const uint32_t node = next.members[i];
    watch_->node(node).BeginAttempt();
    attempt_over_on_.erase(node);
    watch_->state(node).Ready();
    launcher_->Prepare(
        node, next.plan.nodes(static_cast<int>(i)), watch_->node(node).link(),
        [this, i, &prepared, &done](LaunchedNode launched) {
          mailbox_.Put(
              [&prepared, &done, i, shared = std::make_shared<LaunchedNode>(std::move(launched))] {
                prepared[i] = std::move(*shared);
                prepared[i].node_rank = static_cast<uint32_t>(i);
                ++done;
              });
        });
  }
  while (done < next.members.size()) Step();
  if (LaunchExitCode(prepared) == 0) return true;
  Log(LogLevel::kError, LaunchReport(next.plan, prepared));
  return false;
}

}  // namespace autodist::chief
