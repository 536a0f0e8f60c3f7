#include "chief/start/returning_nodes.h"

#include <algorithm>
#include <iterator>
#include <set>
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

bool ReturningNodes::BeingPrepared(uint32_t node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second.stage == Stage::kPreparing;
}

void ReturningNodes::Advance(launch::Launcher& launcher) {
  const std::set<uint32_t>& lost = job_.nodes.lost();
  if (!Wanted() || (lost.empty() && nodes_.empty())) return Pause();
  const Loop::Time now = job_.loop.Now();
  if (now < next_look_ && next_look_ != Loop::Time::max()) return;
  next_look_ = now + kLookInterval;
  for (const uint32_t number : lost) {
    const auto [node, is_new] = nodes_.try_emplace(number);
    if (is_new) node->second.until = now + node->second.backoff.Next();
  }
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    node = Advance(node->first, node->second, launcher) ? nodes_.erase(node) : std::next(node);
  }
}

bool ReturningNodes::Advance(uint32_t number, Node& node, launch::Launcher& launcher) {
  const NodeState state = job_.nodes.state(number).state();
  if (state == NodeState::kQuarantined || state == NodeState::kMember) return true;
  const bool usable = state == NodeState::kReady || state == NodeState::kSpare;
  const Loop::Time now = job_.loop.Now();
  switch (node.stage) {
    case Stage::kWaiting:
      if (usable) {
        Prepare(number, node, launcher);
      } else if (state == NodeState::kLost && now >= node.until) {
        job_.nodes.TryRejoin(number, now + kTryLimit);
        node.stage = Stage::kReaching;
      }
      return false;
    case Stage::kReaching:
      if (job_.nodes.BeingLinked(number)) return false;
      node.stage = Stage::kWaiting;
      node.until = now + node.backoff.Next();
      return false;
    case Stage::kPreparing:
      if (!node.results.complete()) return false;
      Judge(number, node.results.nodes()[0]);
      return true;
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
  launcher.Prepare(
      number, std::move(request), job_.nodes.node(number).link(),
      node.results.Taker(job_.loop, [](launch::LaunchedNode& one) { one.node_rank = 0; }));
}

void ReturningNodes::Judge(uint32_t number, const launch::LaunchedNode& prepared) {
  const v1::NodePlan& plan = job_.plan.nodes(static_cast<int>(number));
  const auto refuse = [&](const std::string& why) {
    leave_out_(number);
    job_.console.Log(LogLevel::kWarning,
                     plan.address() + " is back, but the job does without it: " + why);
  };
  if (!prepared.status.ok()) {
    if (job_.nodes.Connected(number)) refuse(Message(prepared.status));
    return;  // else it was lost again
  }
  if (prepared.prepared.issues_size() > 0) return refuse(prepared.prepared.issues(0).cause());
  const auto faults = diagnosis::FaultsThatConcern(plan, prepared.prepared.facts());
  const auto fatal = std::ranges::find_if(faults, &v1::HardwareFault::fatal);
  if (fatal != faults.end()) return refuse(fatal->what());
  job_.nodes.PassOver(number);
  job_.console.Log(LogLevel::kInfo, plan.address() + " is back; a restart can use it");
}

}  // namespace autodist::chief
