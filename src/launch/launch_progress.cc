#include "launch/launch_progress.h"

#include <algorithm>

#include "base/a_few_of.h"
#include "base/quantity.h"

namespace autodist::launch {

namespace {

std::string For(LaunchProgress::Clock::time_point since) {
  const std::string time = CoarseTime(
      std::chrono::duration_cast<std::chrono::milliseconds>(LaunchProgress::Clock::now() - since));
  return time.empty() ? "" : ", for " + time;
}

}  // namespace

std::string CoarseTime(std::chrono::milliseconds time) {
  using std::chrono::minutes;
  constexpr std::chrono::seconds kFirst{20};
  if (time < kFirst) return "";
  auto passed = std::chrono::duration_cast<minutes>(time);
  if (passed < minutes(1)) return "20 s";
  for (const int steps : {2, 5, 10}) {
    if (passed < minutes(steps)) {
      return std::to_string(steps == 2 ? 1 : steps == 5 ? 2 : 5) + " min";
    }
  }
  return std::to_string(passed.count() / 10 * 10) + " min";
}

LaunchProgress::LaunchProgress(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) nodes_.push_back({address});
}

void LaunchProgress::Begin(const std::vector<uint32_t>& nodes) {
  const std::lock_guard lock(mutex_);
  for (Node& node : nodes_) node.state = State::kReady;
  for (const uint32_t node : nodes) nodes_[node].state = State::kWaiting;
  syncs_ = false;
}

void LaunchProgress::Enter(uint32_t node, State state) {
  if (entered_) entered_(node, state);
  const std::lock_guard lock(mutex_);
  if (nodes_[node].state != state) nodes_[node].since = Clock::now();
  nodes_[node].state = state;
  syncs_ = syncs_ || state == State::kSyncing;
}

void LaunchProgress::SendingAgent(uint32_t node, uint64_t sent, uint64_t total) {
  const std::lock_guard lock(mutex_);
  nodes_[node].state = State::kSendingAgent;
  if (sent == total) nodes_[node].since = Clock::now();
  nodes_[node].sent = sent;
  nodes_[node].total = total;
}

std::string LaunchProgress::Describe(const Node& node) {
  switch (node.state) {
    case State::kConnecting:
      return node.address + " (connecting)";
    case State::kLoggingIn:
      return node.address + " (connecting and logging in)";
    case State::kLoginRefused:
      return node.address + " (logins are refused for now, retrying" + For(node.since) + ")";
    case State::kInSsh:
      return node.address + " (ssh has not logged in, or the login shell has not run anything yet" +
             For(node.since) + ")";
    case State::kLoggedIn:
      return node.address + " (logged in; its login shell has not run anything yet" +
             For(node.since) + ")";
    case State::kInContainer:
      return node.address + " (its container has not run anything yet" + For(node.since) + ")";
    case State::kStartingAgent:
      return node.address + " (starting the agent)";
    case State::kSendingAgent:
      if (node.sent == node.total) {
        return node.address + " (the agent is sent, but has not been unpacked and started yet" +
               For(node.since) + ")";
      }
      return node.address + " (sending the agent, " + base::Bytes(node.sent) + " of " +
             base::Bytes(node.total) + ")";
    case State::kPreparing:
      return node.address + " (checking the node and preparing the ranks' environment" +
             For(node.since) + ")";
    case State::kBooting:
      return node.address + " (not reached yet, retrying" + For(node.since) + ")";
    case State::kWaiting:
    case State::kSyncing:
    case State::kReady:
      break;
  }
  return node.address;
}

std::string LaunchProgress::WaitingFor() const {
  constexpr size_t kNodesShown = 2;
  const std::lock_guard lock(mutex_);
  if (syncs_ && std::ranges::any_of(
                    nodes_, [](const Node& node) { return node.state < State::kPreparing; })) {
    return "";
  }
  std::vector<const Node*> waiting;
  for (const Node& node : nodes_) {
    if (node.state != State::kReady) waiting.push_back(&node);
  }
  // Lists nodes that wait for their turn last, because they wait for the others.
  std::stable_partition(waiting.begin(), waiting.end(),
                        [](const Node* node) { return node->state != State::kWaiting; });
  std::vector<std::string> nodes;
  nodes.reserve(waiting.size());
  for (const Node* node : waiting) nodes.push_back(Describe(*node));
  return base::AFewOf(nodes, kNodesShown);
}

}  // namespace autodist::launch
