// Validation of messages from agents. All data from nodes is untrusted: each message is checked
// here on arrival, before any other code uses it, and its texts are escaped (rpc/printable_text.h).
// A node whose agent breaks a rule has failed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::launch {

// Each returns OK, or the broken rule.

// Checks one event, independently of earlier ones.
Status CheckEvent(const v1::AgentEvent& event);
// Checks a response against the request.
Status CheckAnswer(const v1::PrepareRequest& request, const v1::PrepareResponse& response);
Status CheckAnswer(const v1::OpenPortsRequest& request, const v1::OpenPortsResponse& response);
Status CheckAnswer(const v1::TryPortsRequest& request, const v1::TryPortsResponse& response);

// Checks all events of a node, in order. Not thread-safe.
class EventRules {
 public:
  // Limits of a node's queue here; a correct agent, which waits for replies, needs less.
  static constexpr size_t kMaxEvents = 24 << 20;  // bytes, of events
  static constexpr size_t kMaxOutput = 32 << 20;  // of output that is not yet written
  // The minimum average interval of samples, half of that of a correct agent; and the maximum delay
  // that the link may add.
  static constexpr std::chrono::milliseconds kSampleInterval{50};
  static constexpr std::chrono::milliseconds kSampleCredit{60'000};

  using Clock = std::chrono::steady_clock;

  void BeginSession() { resumed_ = refused_ = false; }
  // Also escapes the texts of the event. `now`: for tests.
  Status Check(v1::AgentEvent& event, Clock::time_point now = Clock::now());

  // The memory that an event needs while it is queued.
  static size_t CostOf(const v1::AgentEvent& event);
  // Call after an event of this cost has been processed.
  void Handled(size_t cost) { events_ -= cost; }
  // OutputRefused: the newest piece of output is not written because it does not follow the
  // previous one. OutputWritten: the oldest piece has been written.
  Status OutputRefused();
  void OutputWritten();

 private:
  Status CheckOrder(const v1::AgentEvent& event);
  Status CheckPace(Clock::time_point now);

  bool resumed_ = false;
  // The time up to which the samples so far have used up the rate limit.
  Clock::time_point samples_paid_{};
  size_t events_ = 0;                           // queued bytes
  size_t output_ = 0;                           // queued bytes
  bool refused_ = false;                        // whether output of this session was refused
  int sessions_refused_ = 0;                    // consecutive ones
  std::deque<size_t> pieces_;                   // costs of queued output
  std::set<std::pair<uint32_t, int>> streams_;  // streams with output
};

}  // namespace autodist::launch
