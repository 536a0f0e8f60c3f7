// Waits until another attempt can start: no rank of an earlier one may run anywhere, and the nodes
// that it needs are connected and idle, or will not return in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "chief/fleet/all_hold.h"
#include "chief/loop/loop.h"
#include "chief/start/roster.h"
#include "chief/start/starting_job.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class NodeGathering {
 public:
  // `roster` must outlive it.
  NodeGathering(const StartingJob& job, const Roster& roster) : job_(job), roster_(roster) {}

  void Begin();
  // Does what is due now; returns whether it has ended. Looks at all nodes each time, because
  // any may break, return or end meanwhile.
  bool Advance();
  // When to call Advance at the latest.
  Loop::Time due() const { return due_; }

 private:
  bool AllEnded();
  void GiveUpOverdue();
  bool AwaitsEvictions();
  bool AwaitsNodes(const Choice& idle);
  bool AwaitsRanks();
  void ReachMissing();
  std::vector<uint32_t> Missing(bool enough) const;
  std::chrono::milliseconds ReturnLimit();
  void WakeBy(Loop::Time time);

  const StartingJob job_;
  const Roster& roster_;
  Loop::Time due_ = Loop::Time::max();
  bool ending_ = false;          // some connected node has processes
  Loop::Time end_by_{};          // for these
  Loop::Time evicted_by_{};      // for nodes that are being evicted
  Loop::Time optional_until_{};  // for nodes without which the attempt can start
  Loop::Time needed_until_{};    // for others; zero: not yet known
  Loop::Time reach_at_{};        // missing nodes, again
  bool reported_ = false;        // that ranks may still run
  AllHold all_ended_;
};

}  // namespace autodist::chief
