// The agent's messages to the chief, independently of the current connection.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "agent/link/unacknowledged_events.h"
#include "agent/output/rank_output.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/deadline.h"

namespace autodist::agent {

// The sending side of an open session with the chief.
class SessionWriter : public grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
 public:
  // Ends the stream; only the first call counts.
  void End(const grpc::Status& status) {
    if (!ended_.exchange(true)) Finish(status);
  }

  v1::AgentEvent event;  // in progress

 private:
  std::atomic<bool> ended_ = false;
};

// Keeps events, in order, until the chief has acknowledged them; sends the ranks' output when there
// is no event to send. Thread-safe; only WaitUntilDelivered and WaitUntilDetached block.
class EventQueue {
 public:
  explicit EventQueue(RankOutput& output);

  // Numbers the event, and keeps it until the chief has acknowledged it.
  void SendReliably(v1::AgentEvent event);
  // Sends the event before all others; drops it without an open session.
  void SendIfConnected(v1::AgentEvent event);
  // Answers a renewal of the lease.
  void AnswerRenewal(const v1::RenewLease& renewal);
  // Returns when the answer with this number was made; nullopt: unknown, or 0.
  std::optional<base::Deadline::Clock::time_point> AnsweredAt(uint64_t answer) const;
  // The same, but a newer sample replaces one that has not yet been written.
  void SendSample(v1::NodeSample sample);
  // Sets whether samples wait for other messages, such as the answer to a renewal of the lease.
  void LetSamplesWait(bool wait);
  // Drops all later events, for example of a rank's call that is cancelled. When the chief has
  // acknowledged all events, the session ends with OK.
  void Close(v1::AgentEvent last);
  // Blocks until the chief has acknowledged all events of a closed queue; false at the deadline.
  bool WaitUntilDelivered(base::Deadline deadline);
  // Blocks until no session is open; false at the deadline.
  bool WaitUntilDetached(base::Deadline deadline);

  // Replaces and ends the previous session.
  void Attach(SessionWriter* writer);
  // The chief has reported what it has received; sends the rest from now on.
  void Resume(SessionWriter* writer, const v1::ChiefMessage& message);
  bool Detach(SessionWriter* writer);  // whether it was the current one

  // Returns false for a message of an earlier session, or a repeated one. Processes `acknowledged`.
  bool Accept(SessionWriter* writer, const v1::ChiefMessage& message);
  void WriteDone(SessionWriter* writer, bool ok);
  // The size of kept events, in bytes.
  size_t size() const;
  // Call when there may be output to send.
  void OutputChanged();

 private:
  // Call these functions with mutex_ held.
  uint64_t NumberAnswer();
  void Acknowledge(uint64_t sequence);
  void WriteNext();

  RankOutput& output_;
  const uint64_t instance_;  // unique to this agent
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  UnacknowledgedEvents events_;
  std::deque<v1::AgentEvent> unnumbered_;  // not yet written
  std::optional<v1::NodeSample> sample_;   // not yet written
  bool samples_wait_ = false;
  uint64_t answers_ = 0;                                    // number of the last one
  std::deque<base::Deadline::Clock::time_point> answered_;  // the last ones
  uint64_t orders_taken_ = 0;
  SessionWriter* writer_ = nullptr;
  bool resumed_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace autodist::agent
