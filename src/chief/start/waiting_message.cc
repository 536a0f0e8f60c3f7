#include "chief/start/waiting_message.h"

#include <optional>

namespace autodist::chief {
namespace {

using launch::LaunchProgress;
using std::chrono::milliseconds;

// The time until the first message; later messages only if the text has changed.
constexpr milliseconds kSilence{1'000};
constexpr milliseconds kMessageInterval{10'000};

std::vector<std::string> AddressesOf(const v1::LaunchPlan& plan) {
  std::vector<std::string> addresses;
  for (const v1::NodePlan& node : plan.nodes()) addresses.push_back(node.address());
  return addresses;
}

// Translates a state of the launch into an event of the node; nullopt: none.
std::optional<NodeEvent> EventOf(LaunchProgress::State state) {
  using State = LaunchProgress::State;
  switch (state) {
    case State::kConnecting:
    case State::kLoggingIn:
    case State::kBooting:
      return NodeEvent::kConnect;
    case State::kLoggedIn:
    case State::kInContainer:
    case State::kStartingAgent:
      return NodeEvent::kBootstrap;
    case State::kSyncing:
    case State::kPreparing:
      return NodeEvent::kProbe;
    case State::kWaiting:
    case State::kLoginRefused:
    case State::kInSsh:
    case State::kSendingAgent:
    case State::kReady:
      break;
  }
  return std::nullopt;
}

}  // namespace

WaitingMessage::WaitingMessage(const StartingJob& job)
    : loop_(job.loop),
      console_(job.console),
      progress_(std::make_shared<LaunchProgress>(AddressesOf(job.plan))) {
  progress_->OnState(
      [&loop = job.loop, &nodes = job.nodes](uint32_t node, LaunchProgress::State state) {
        const auto event = EventOf(state);
        if (event) loop.Post([&nodes, node, event] { nodes.Launches(node, *event); });
      });
  loop_.AddTimer([this] { return Show(); });
}

void WaitingMessage::Begin(const std::vector<uint32_t>& nodes) {
  progress_->Begin(nodes);
  reported_.clear();
  show_at_ = loop_.Now() + kSilence;
}

// Returns when to call it again.
Loop::Time WaitingMessage::Show() {
  if (loop_.Now() < show_at_) return show_at_;
  const std::string what = progress_->WaitingFor();
  show_at_ = loop_.Now() + (what.empty() ? kSilence : kMessageInterval);
  if (what.empty() || what == reported_) return show_at_;
  reported_ = what;
  console_.Log(base::LogLevel::kInfo, "waiting for " + what);
  return show_at_;
}

}  // namespace autodist::chief
