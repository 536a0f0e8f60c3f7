#include "chief/start/waiting_message.h"

#include <optional>

namespace autodist::chief {
namespace {

using launch::LaunchProgress;
using std::chrono::milliseconds;

// What takes longer says what it waits for; again where that has changed.
constexpr milliseconds kSilence{1'000};
constexpr milliseconds kTellInterval{10'000};

std::vector<std::string> AddressesOf(const v1::LaunchPlan& plan) {
  std::vector<std::string> addresses;
  for (const v1::NodePlan& node : plan.nodes()) addresses.push_back(node.address());
  return addresses;
}

// What a step of a launch is to the node's state; nullopt: nothing new.
std::optional<NodeEvent> EventOf(LaunchProgress::Step step) {
  using Step = LaunchProgress::Step;
  switch (step) {
    case Step::kConnecting:
    case Step::kBooting:
      return NodeEvent::kConnect;
    case Step::kLoggedIn:
    case Step::kStartingAgent:
      return NodeEvent::kBootstrap;
    case Step::kSyncing:
    case Step::kPreparing:
      return NodeEvent::kProbe;
    case Step::kWaiting:
    case Step::kSendingAgent:
    case Step::kReady:
      break;
  }
  return std::nullopt;
}

}  // namespace

WaitingMessage::WaitingMessage(const StartingJob& job)
    : loop_(job.loop),
      console_(job.console),
      progress_(std::make_shared<LaunchProgress>(AddressesOf(job.plan))) {
  progress_->OnStep(
      [&loop = job.loop, &nodes = job.nodes](uint32_t node, LaunchProgress::Step step) {
        const auto event = EventOf(step);
        if (event) loop.Post([&nodes, node, event] { nodes.Launches(node, *event); });
      });
  loop_.AddTimer([this] { return Tell(); });
}

void WaitingMessage::Begin(const std::vector<uint32_t>& nodes) {
  progress_->Begin(nodes);
  reported_.clear();
  tell_at_ = loop_.Now() + kSilence;
}

// Returns when to be called again.
Loop::Time WaitingMessage::Tell() {
  if (loop_.Now() < tell_at_) return tell_at_;
  const std::string what = progress_->WaitingFor();
  tell_at_ = loop_.Now() + (what.empty() ? kSilence : kTellInterval);
  if (what.empty() || what == reported_) return tell_at_;
  reported_ = what;
  console_.Tell(base::LogLevel::kInfo, "waiting for " + what);
  return tell_at_;
}

}  // namespace autodist::chief
