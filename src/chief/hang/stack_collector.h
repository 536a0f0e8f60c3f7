// Asks nodes what their ranks are doing, for all who want to know it: one collection of stacks at a
// time.
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

// How long all nodes have to tell what their ranks are doing.
inline constexpr std::chrono::milliseconds kStacksLimit{40'000};
// How long nodes have to tell what those are doing for which a rank has waited in vain.
inline constexpr std::chrono::seconds kMissingLimit{10};

// For the loop's thread; never blocks.
class StackCollector {
 public:
  // What is given must outlive it.
  StackCollector(Loop& loop, Fleet& nodes, Console& console, const OutputRouter& output)
      : loop_(loop), nodes_(nodes), console_(console), output_(output) {}

  // Asks every member for the stacks of its ranks, unless they are being asked. Returns the
  // collection, which is there until Finish.
  StackCollection& Ask(const Attempt& attempt, bool flight_records = true);
  // Who is at our terminal is told of the collection that is under way.
  void ShowHere() { shows_here_ = true; }
  // Asks for who wants to know, and to have the whole stacks of these ranks; the answer comes
  // within kStacksLimit.
  void AskFor(const Attempt& attempt, std::vector<uint32_t> whole, bool flight_records,
              StacksAnswer answer);
  // Asks because a rank has waited in vain: for no longer than kMissingLimit.
  void LookForMissing(const Attempt& attempt);
  // Who is missing, of the last such look; "": it shows nobody.
  const std::string& missing() const { return missing_; }

  void Take(uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node);

  // What is under way; null: nothing is.
  StackCollection* collection() { return collection_ ? &*collection_ : nullptr; }
  // Whether that is as complete as it will be.
  bool IsDue() const { return collection_ && (collection_->complete() || loop_.Now() >= due_); }
  Loop::Time due() const { return due_; }
  // Waits for no more stacks. Not after the attempt has gone.
  void Finish();

  // Whether no rank of the attempt has written anything yet: programs may be loaded for long.
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
