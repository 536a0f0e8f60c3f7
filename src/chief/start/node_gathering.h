// Waits until another attempt can start: no rank of an earlier one may run anywhere, and the nodes
// that it needs are connected and idle, or will not return in time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
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
  NodeGathering(const StartingJob& job, const Roster& roster);

  // `again`: for the same attempt, because several plans could not be prepared: nodes without which
  // it can start are awaited no more.
  void Begin(bool again);
  // Does what is due now; returns whether it has ended. Looks at all nodes each time, because
  // any may break, return or end meanwhile.
  bool Advance();
  // Returns whether an attempt that begins then waits for nodes, or for ranks that may still run,
  // as far as is known now. Advance reports that.
  bool WouldWait(Loop::Time begin) const;
  // When to call Advance at the latest.
  Loop::Time due() const { return due_; }
  // Logs which of these were lost before, once.
  void ReportReturned(const std::vector<uint32_t>& members);

 private:
  bool AllEnded();
  // A time since which others could act: the chief did not run before.
  Loop::Time Since(Loop::Time time) const { return std::max(time, job_.loop.resumed()); }
  void ReportEnding(Loop::Time limit);
  void GiveUpOverdue();
  bool AwaitsEvictions();
  void NoteMissing();
  bool AwaitsNodes(const Choice& idle);
  bool AwaitsPlaces(const Choice& idle);
  bool AwaitsOptional();
  bool AwaitsNeeded(const Choice& idle);
  bool AwaitsRanks();
  void ReachMissing();
  void ReportWait(const Choice& idle);
  std::chrono::milliseconds ReturnLimit(uint32_t node) const;
  // When a node that is missing since then is waited for no longer.
  Loop::Time Until(uint32_t node, Loop::Time since) const;
  void WakeBy(Loop::Time time);

  const StartingJob job_;
  const Roster& roster_;
  Loop::Time due_ = Loop::Time::max();
  const std::chrono::milliseconds end_limit_;  // for processes, from the order to end them
  Loop::Time began_{};
  bool ending_ = false;                     // some connected node has processes
  Loop::Time ending_since_{};               // as above
  Loop::Time count_at_{};                   // the nodes, while some end
  bool again_ = false;                      // as in Begin
  Loop::Time awaits_since_{};               // missing nodes; zero: not yet
  std::map<uint32_t, Loop::Time> missing_;  // nodes that may return, since then
  std::set<uint32_t> were_lost_;            // nodes, and are not said to be back
  Loop::Time reach_at_{};                   // missing nodes, again
  bool reported_ = false;                   // that ranks may still run
  bool reported_missing_ = false;           // that nodes are awaited
  bool reported_ending_ = false;            // that nodes have processes
  AllHold all_ended_;
};

}  // namespace autodist::chief
