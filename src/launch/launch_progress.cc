#include "launch/launch_progress.h"

#include <algorithm>
#include <utility>

#include "base/a_few_of.h"
#include "base/quantity.h"

namespace autodist::launch {

namespace {

bool IsLoginFailure(LaunchProgress::State state) {
  using State = LaunchProgress::State;
  return state == State::kLoginRefused || state == State::kBooting;
}

// Whether a node may be in this state again and again while its login is retried.
bool IsAttempt(LaunchProgress::State state) {
  using State = LaunchProgress::State;
  return state == State::kConnecting || state == State::kLoggingIn || state == State::kInSsh ||
         state == State::kInContainer;
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

LaunchProgress::LaunchProgress(const std::vector<std::string>& addresses,
                               std::function<Clock::time_point()> now)
    : now_(std::move(now)) {
  for (const std::string& address : addresses) nodes_.push_back({address});
}

void LaunchProgress::Begin(const std::vector<uint32_t>& nodes) {
  const std::lock_guard lock(mutex_);
  for (Node& node : nodes_) Move(node, State::kReady);
  for (const uint32_t node : nodes) Move(nodes_[node], State::kWaiting);
  syncs_ = false;
}

void LaunchProgress::Enter(uint32_t node, State state) {
  if (entered_) entered_(node, state);
  const std::lock_guard lock(mutex_);
  Move(nodes_[node], state);
  syncs_ = syncs_ || state == State::kSyncing;
}

void LaunchProgress::Move(Node& node, State state) const {
  if (node.step.state != state) node.step = {state, now_()};
  if (!IsLoginFailure(state)) {
    if (!IsAttempt(state)) node.retried.reset();
  } else if (!node.retried || node.retried->state != state) {
    node.retried = node.step;
  }
}

void LaunchProgress::SendingAgent(uint32_t node, uint64_t sent, uint64_t total) {
  const std::lock_guard lock(mutex_);
  Move(nodes_[node], State::kSendingAgent);
  if (sent == total) nodes_[node].step.since = now_();
  nodes_[node].sent = sent;
  nodes_[node].total = total;
}

std::string LaunchProgress::For(Clock::time_point since) const {
  const std::string time =
      CoarseTime(std::chrono::duration_cast<std::chrono::milliseconds>(now_() - since));
  return time.empty() ? "" : ", for " + time;
}

// A retry in which the ssh program or a container does nothing for long has another cause than the
// failure before.
LaunchProgress::Step LaunchProgress::ShownStep(const Node& node) const {
  const State state = node.step.state;
  const bool is_slow = state == State::kInSsh || state == State::kInContainer;
  return !node.retried || (is_slow && !For(node.step.since).empty()) ? node.step : *node.retried;
}

std::string LaunchProgress::Describe(const Node& node) const {
  const Step step = ShownStep(node);
  switch (step.state) {
    case State::kConnecting:
      return node.address + " (connecting)";
    case State::kLoggingIn:
      return node.address + " (connecting and logging in)";
    case State::kLoginRefused:
      return node.address + " (logins are refused for now, retrying" + For(step.since) + ")";
    case State::kInSsh:
      return node.address + " (ssh has not logged in, or the login shell has not run anything yet" +
             For(step.since) + ")";
    case State::kLoggedIn:
      return node.address + " (logged in; its login shell has not run anything yet" +
             For(step.since) + ")";
    case State::kInContainer:
      return node.address + " (its container has not run anything yet" + For(step.since) + ")";
    case State::kStartingAgent:
      return node.address + " (starting the agent)";
    case State::kSendingAgent:
      if (node.sent == node.total) {
        return node.address + " (the agent is sent, but has not been unpacked and started yet" +
               For(step.since) + ")";
      }
      return node.address + " (sending the agent, " + base::Bytes(node.sent) + " of " +
             base::Bytes(node.total) + ")";
    case State::kPreparing:
      return node.address + " (checking the node and preparing the environment" + For(step.since) +
             ")";
    case State::kBooting:
      return node.address + " (not reached yet, retrying" + For(step.since) + ")";
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
                    nodes_, [](const Node& node) { return node.step.state < State::kPreparing; })) {
    return "";
  }
  std::vector<const Node*> waiting;
  for (const Node& node : nodes_) {
    if (node.step.state != State::kReady) waiting.push_back(&node);
  }
  // Lists nodes that wait for their turn last, because they wait for the others.
  std::stable_partition(waiting.begin(), waiting.end(),
                        [](const Node* node) { return node->step.state != State::kWaiting; });
  std::vector<std::string> nodes;
  nodes.reserve(waiting.size());
  for (const Node* node : waiting) nodes.push_back(Describe(*node));
  return base::AFewOf(nodes, kNodesShown);
}

}  // namespace autodist::launch
