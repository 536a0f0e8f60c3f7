#include "chief/start/returning_nodes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "diagnosis/hardware_faults.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

constexpr milliseconds kLookInterval{500};
// A try to reach a node ends after this time.
constexpr milliseconds kTryLimit{10'000};

}  // namespace

bool ReturningNodes::Wanted() const {
  const v1::JobRequest& request = job_.options.request();
  return (request.spares() > 0 || request.min_nodes() > 0) && !job_.stop.requested();
}

bool ReturningNodes::IsPreparing(uint32_t node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && !found->second.results.complete();
}

void ReturningNodes::Pause(launch::Launcher& launcher) {
  next_look_ = Loop::Time::max();
  for (auto& [number, node] : nodes_) {
    if (node.stage != Stage::kPreparing) continue;
    launcher.GiveUp(number);
    node.stage = Stage::kWaiting;
  }
}

// Looks at nodes that are lost, or idle but neither members nor spares.
void ReturningNodes::FindReturned() {
  for (uint32_t number = 0; number < job_.nodes.size(); ++number) {
    const NodeState state = job_.nodes.state(number).state();
    if ((state != NodeState::kLost && state != NodeState::kDrained) || is_left_out_(number)) {
      continue;
    }
    const auto [node, is_new] = nodes_.try_emplace(number);
    if (!is_new || state == NodeState::kDrained) continue;
    node->second.until = job_.loop.Now() + node->second.backoff.Next();
  }
}

void ReturningNodes::Advance(launch::Launcher& launcher) {
  const Loop::Time now = job_.loop.Now();
  if (!Wanted()) return Pause(launcher);
  if (now < next_look_ && next_look_ != Loop::Time::max()) return;
  next_look_ = now + kLookInterval;
  FindReturned();
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    node = Advance(node->first, node->second, launcher) ? nodes_.erase(node) : std::next(node);
  }
}

bool ReturningNodes::Advance(uint32_t number, Node& node, launch::Launcher& launcher) {
  const NodeState state = job_.nodes.state(number).state();
  if (IsPreparing(number)) return false;
  if (state == NodeState::kQuarantined || state == NodeState::kMember) return true;
  const Loop::Time now = job_.loop.Now();
  switch (node.stage) {
    case Stage::kWaiting:
      if (now < node.until) return false;
      if (state == NodeState::kDrained || state == NodeState::kReady ||
          state == NodeState::kSpare) {
        Prepare(number, node, launcher);
      } else if (state == NodeState::kLost) {
        job_.nodes.TryRejoin(number, now + kTryLimit);
        node.stage = Stage::kReaching;
      }
      return false;
    case Stage::kReaching:
      if (job_.nodes.BeingLinked(number)) return false;
      node.stage = Stage::kWaiting;
      node.until = state == NodeState::kLost ? now + node.backoff.Next() : now;
      return false;
    case Stage::kPreparing:
      return Judge(number, node);
  }
  return true;
}

void ReturningNodes::Prepare(uint32_t number, Node& node, launch::Launcher& launcher) {
  node.stage = Stage::kPreparing;
  node.results = NodeResults(1);
  v1::PrepareRequest request;
  *request.mutable_node() = job_.plan.nodes(static_cast<int>(number));
  *request.mutable_environment() = job_.plan.environment();
  request.mutable_probe()->set_health(job_.options.request().health() != v1::HEALTH_OFF);
  request.set_generation(job_.nodes.Prepare({number}));
  launcher.Prepare(
      number, std::move(request), job_.nodes.node(number).link(),
      node.results.Taker(job_.loop, [](launch::LaunchedNode& one) { one.node_rank = 0; }));
}

// Returns whether the node is usable, or left out. A call that fails is repeated: it says nothing
// about what the node can run.
bool ReturningNodes::Judge(uint32_t number, Node& node) {
  const v1::NodePlan& plan = job_.plan.nodes(static_cast<int>(number));
  const bool was_lost = !job_.nodes.lost_because(number).ok();
  const std::string is_there = plan.address() + (was_lost ? " is back" : " is idle");
  const launch::LaunchedNode& prepared = node.results.nodes()[0];
  if (!prepared.status.ok()) {
    node.stage = Stage::kWaiting;
    node.until = job_.loop.Now() + node.backoff.Next();
    const std::string why = Message(prepared.status);
    if (job_.nodes.Connected(number) && std::exchange(node.failed, why) != why) {
      job_.console.Log(LogLevel::kWarning,
                       is_there + ", but not usable yet: " + why + "; trying again");
    }
    return false;
  }
  const auto faults = diagnosis::FaultsThatConcern(plan, prepared.prepared.facts());
  const v1::Health health = job_.options.request().health();
  const auto bad = std::ranges::find_if(faults, [&](const v1::HardwareFault& fault) {
    return diagnosis::ResultOf(fault, health) == v1::CHECK_RESULT_BAD;
  });
  std::string why;
  if (prepared.prepared.issues_size() > 0) {
    why = prepared.prepared.issues(0).cause();
  } else if (bad != faults.end()) {
    why = bad->what();
  }
  if (!why.empty()) {
    leave_out_(number, "cannot be used: " + why);
    job_.console.Log(LogLevel::kWarning, is_there + ", but the job does without it: " + why);
    return true;
  }
  job_.nodes.PassOver(number);
  job_.console.Log(LogLevel::kInfo, is_there + "; a restart can use it");
  return true;
}

}  // namespace autodist::chief
