// Collects stacks from the nodes for all clients, one collection at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/fleet/fleet.h"
#include "chief/hang/stack_collection.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"
#include "chief/output/output_router.h"

namespace autodist::chief {

// The time for all nodes to report their ranks' stacks.
inline constexpr std::chrono::milliseconds kStacksLimit{40'000};
// The same for the search for missing ranks.
inline constexpr std::chrono::seconds kMissingLimit{10};

// Used on the loop's thread only; never blocks.
class StackCollector {
 public:
  // The arguments must outlive this object.
  StackCollector(Loop& loop, Fleet& nodes, Console& console, const OutputRouter& output)
      : loop_(loop), nodes_(nodes), console_(console), output_(output) {}

  // Asks every member for its ranks' stacks, unless a collection is running. Returns the
  // collection, which exists until Finish.
  StackCollection& Ask(const Attempt& attempt, bool flight_records = true);
  // Shows the running collection at the chief's terminal, too.
  void ShowHere() { shows_here_ = true; }
  // Collects for a client, with the whole stacks of these ranks; answers within kStacksLimit.
  void AskFor(const Attempt& attempt, std::vector<uint32_t> whole, bool flight_records,
              StacksAnswer answer);
  // Collects because a rank has waited in vain, for at most kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // The missing ranks, by the last such collection; "": none.
  const std::string& missing() const { return missing_; }

  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node);

  // The running collection; null: none.
  StackCollection* collection() { return collection_ ? &*collection_ : nullptr; }
  // Returns whether it is as complete as it will be.
  bool IsDue() const { return collection_ && (collection_->complete() || loop_.Now() >= due_); }
  Loop::Time due() const { return due_; }
  // Ends the running collection. Called while the attempt exists.
  void Finish();

  // Returns whether no rank of the attempt has written anything yet: programs may load for long.
  bool MayLoad(const Attempt& attempt) const { return output_.last() <= attempt.began; }

 private:
  std::string WhyUnknown(const std::string& address, uint32_t node) const;

  Loop& loop_;
  Fleet& nodes_;
  Console& console_;
  const OutputRouter& output_;
  std::optional<StackCollection> collection_;  // while nodes are being asked
  Loop::Time due_ = Loop::Time::max();
  bool shows_here_ = false;
  bool looks_for_missing_ = false;
  std::string missing_;
};

}  // namespace autodist::chief
