// What the agent has to tell the chief, over any number of connections.
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

  v1::AgentEvent event;  // being written

 private:
  std::atomic<bool> ended_ = false;
};

// Events are kept, in order, until the chief has acknowledged them; the ranks' output follows where
// there is no event to tell. Thread-safe; but for WaitUntilDelivered no call blocks.
class EventQueue {
 public:
  explicit EventQueue(RankOutput& output);

  // Numbered, and kept until the chief has acknowledged it.
  void SendReliably(v1::AgentEvent event);
  // Before everything else; dropped where no session is open.
  void SendIfConnected(v1::AgentEvent event);
  // Likewise, but the next one takes its place where it has not been written by then.
  void SendSample(v1::NodeSample sample);
  // From now on samples wait for anything else to be sent, such as the answer to a renewal of the
  // lease; or do not.
  void LetSamplesWait(bool wait);
  // Nothing is kept after this one, say what a rank's call that breaks off still has to tell. Once
  // the chief has acknowledged all events, the session ends with OK.
  void Close(v1::AgentEvent last);
  // Blocks until a closed queue's events have all been acknowledged; false at the deadline.
  bool WaitUntilDelivered(base::Deadline deadline);
  // Blocks until no session is open; false at the deadline.
  bool WaitUntilDetached(base::Deadline deadline);

  // Takes the place of the session before, which is ended.
  void Attach(SessionWriter* writer);
  // The chief has said what it has; from now on it is told the rest.
  void Resume(SessionWriter* writer, const v1::ChiefMessage& message);
  bool Detach(SessionWriter* writer);  // whether it was the present one

  // False where the message comes from an earlier session, or has been taken before. `acknowledged`
  // of the message is heeded.
  bool Accept(SessionWriter* writer, const v1::ChiefMessage& message);
  void WriteDone(SessionWriter* writer, bool ok);
  // Of what is kept, in bytes.
  size_t size() const;
  // There may be output to send.
  void OutputChanged();

 private:
  // mutex_ held, as for the next one.
  void Acknowledge(uint64_t sequence);
  void WriteNext();

  RankOutput& output_;
  const uint64_t instance_;  // no other agent has it
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  UnacknowledgedEvents events_;
  std::deque<v1::AgentEvent> unnumbered_;  // not yet written
  std::optional<v1::NodeSample> sample_;   // likewise
  bool samples_wait_ = false;
  uint64_t orders_taken_ = 0;
  SessionWriter* writer_ = nullptr;
  bool resumed_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace autodist::agent
