// Passes everything that arrives from nodes, on gRPC's threads, to the loop's thread.
#pragma once

#include <cstdint>

#include "autodist/v1/agent.pb.h"
#include "chief/fleet/node.h"
#include "chief/fleet/quiet_events.h"
#include "chief/loop/loop.h"
#include "chief/output/output_router.h"

namespace autodist::chief {

// Receives the events, on the loop's thread.
class InboxReader {
 public:
  // `arrived_ns`: the time of arrival, since 1970.
  virtual void TakeEvent(uint32_t node, v1::AgentEvent event, int64_t arrived_ns) = 0;
  // One event of this cost has been handled.
  virtual void Handled(uint32_t node, size_t cost) = 0;
  virtual void TakeClosed(uint32_t node, uint64_t connection, const Status& status) = 0;

 protected:
  ~InboxReader() = default;
};

class Inbox final : public NodeListener {
 public:
  // The arguments must outlive the inbox.
  Inbox(Loop& loop, OutputRouter& output, InboxReader& reader)
      : loop_(loop), output_(output), reader_(reader), quiet_(loop) {}

  // Handles events that are not urgent; on the loop's thread.
  void TakeQuiet();
  // When to call TakeQuiet at the latest.
  Loop::Time due() const { return quiet_.due(); }

 private:
  // Called on gRPC's threads.
  void OnEvent(uint32_t node, v1::AgentEvent event) override;
  void OnOutput(uint32_t node, v1::Output output) override;
  void OnClosed(uint32_t node, uint64_t connection, Status status) override;

  Loop& loop_;
  OutputRouter& output_;
  InboxReader& reader_;
  QuietEvents quiet_;  // the majority of events
};

}  // namespace autodist::chief
