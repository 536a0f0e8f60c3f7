// What an agent may say. Nothing that comes from a node is believed: each message is looked at
// here, as it arrives and before anything else sees it. A node whose agent breaks a rule has
// failed.
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

// Each returns OK, or a broken rule.

// Of one event, whatever came before it.
Status CheckEvent(const v1::AgentEvent& event);
// Of an answer to what was asked.
Status CheckAnswer(const v1::PrepareRequest& request, const v1::PrepareResponse& response);
Status CheckAnswer(const v1::OpenPortsRequest& request, const v1::OpenPortsResponse& response);
Status CheckAnswer(const v1::TryPortsRequest& request, const v1::TryPortsResponse& response);

// Of all events of a node, in their order. Not thread-safe.
class EventRules {
 public:
  // What a node may have waiting here: an honest agent, which waits for replies, has less.
  static constexpr size_t kMaxEvents = 24 << 20;  // bytes, of events
  static constexpr size_t kMaxOutput = 32 << 20;  // of output that is not written yet
  // What samples may have between them, half of what they have from an honest agent; and for how
  // long they may have been on their way.
  static constexpr std::chrono::milliseconds kSampleInterval{50};
  static constexpr std::chrono::milliseconds kSampleCredit{60'000};

  using Clock = std::chrono::steady_clock;

  void BeginSession() { resumed_ = refused_ = false; }
  // `now`: for tests.
  Status Check(const v1::AgentEvent& event, Clock::time_point now = Clock::now());

  // What an event takes in memory while it waits.
  static size_t CostOf(const v1::AgentEvent& event);
  // An event of this cost has been dealt with.
  void Handled(size_t cost) { events_ -= cost; }
  // The newest piece of output is not written, as it does not follow what came before; the oldest
  // one has been.
  Status OutputRefused();
  void OutputWritten();

 private:
  Status CheckOrder(const v1::AgentEvent& event);
  Status CheckPace(Clock::time_point now);

  bool resumed_ = false;
  Clock::time_point samples_paid_{};            // until when they have used up the time
  size_t events_ = 0;                           // bytes that wait
  size_t output_ = 0;                           // likewise
  bool refused_ = false;                        // output of this session
  int sessions_refused_ = 0;                    // one after the other
  std::deque<size_t> pieces_;                   // of output, by their cost
  std::set<std::pair<uint32_t, int>> streams_;  // that have written anything
};

}  // namespace autodist::launch
