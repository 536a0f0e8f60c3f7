// What may run where until when. For each node: ranks of which generation (PrepareRequest) may run
// there, and until when. Nothing starts ranks without its clearance, so that there are never two of
// a rank.
//
// Two things clear an entry: the report of the agent that ran the ranks, and a proof that it has
// ended. Otherwise the entry ends with the agent's lease. Pure logic; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/proof_of_end.h"

namespace autodist::chief {

class RankLedger {
 public:
  using Time = base::Deadline::Clock::time_point;

  // The permission to start ranks, which is used at once: an event may close the ledger again.
  class Clearance {
   private:
    friend class RankLedger;
    Clearance() = default;
  };

  explicit RankLedger(size_t nodes) : entries_(nodes) {}

  // Returns no clearance while ranks may run on any node.
  std::optional<Clearance> MayStart(Time now) const {
    return ClearAt() <= now ? std::optional(Clearance()) : std::nullopt;
  }
  // When no rank can run any more anywhere, as far as is known now; Time::min(): none does.
  // Time::max(): not before a report or a proof.
  Time ClearAt() const { return until_.empty() ? Time::min() : until_.rbegin()->first; }
  // When none can run any more on this node.
  Time ClearAt(uint32_t node) const { return entries_[node] ? entries_[node]->until : Time::min(); }
  // The node whose ranks end last; only while some may run.
  uint32_t last() const { return until_.rbegin()->second; }

  // Ranks are started on the node by this instance of the agent (Resumed.instance).
  void Start(const Clearance& /*clearance*/, uint32_t node, uint64_t generation,
             uint64_t instance) {
    Set(node, Entry{generation, instance, Time::max()});
  }
  // This instance reports that nothing of the generation, and of earlier ones, is left.
  void Ended(uint32_t node, uint64_t generation, uint64_t instance) {
    const auto& entry = entries_[node];
    if (entry && entry->instance == instance && entry->generation <= generation) {
      Set(node, std::nullopt);
    }
  }
  // The same, if `why` carries a ProofOfEnd.
  void Ended(uint32_t node, const Status& why) {
    if (ProofOfEnd::In(why)) Set(node, std::nullopt);
  }
  // The agent is not connected; unless it is again, its ranks end by then. Later connections that
  // it does not answer, or another agent, renew no lease.
  void EndsBy(uint32_t node, Time until) {
    if (ClearAt(node) == Time::max()) SetUntil(node, until);
  }
  // An agent is connected again. If it is the one that ran the ranks, they may still run, even
  // when the lease has expired: the clock may have stood still.
  void Connected(uint32_t node, uint64_t instance, Time now) {
    auto& entry = entries_[node];
    if (!entry || entry->instance != instance) return;
    entry->overdue |= entry->until <= now;
    SetUntil(node, Time::max());
  }
  // Whether this agent may have ranks that should have ended, so that they may have been replaced.
  bool Overdue(uint32_t node, uint64_t instance) const {
    return entries_[node] && entries_[node]->instance == instance && entries_[node]->overdue;
  }

 private:
  struct Entry {
    uint64_t generation;
    uint64_t instance;
    Time until;
    bool overdue = false;
  };
  void SetUntil(uint32_t node, Time until) {
    Entry entry = *entries_[node];
    entry.until = until;
    Set(node, entry);
  }
  void Set(uint32_t node, std::optional<Entry> entry) {
    if (entries_[node]) until_.erase({entries_[node]->until, node});
    if (entry) until_.emplace(entry->until, node);
    entries_[node] = entry;
  }

  std::vector<std::optional<Entry>> entries_;  // by node
  std::set<std::pair<Time, uint32_t>> until_;  // of all entries
};

}  // namespace autodist::chief
