// Takes back lost nodes while the ranks of an attempt run on others: reaches them again, prepares
// them as before the first attempt, and examines their hardware.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/backoff.h"
#include "base/random.h"
#include "chief/start/node_results.h"
#include "chief/start/starting_job.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class ReturningNodes {
 public:
  // `leave_out` is called for a node that returned but cannot be used.
  ReturningNodes(const StartingJob& job, std::function<void(uint32_t node)> leave_out)
      : job_(job), leave_out_(std::move(leave_out)) {}

  // Called while an attempt runs. `launcher` must outlive its use.
  void Advance(launch::Launcher& launcher);
  // Called when no attempt runs: no node is reached meanwhile.
  void Pause() { next_look_ = Loop::Time::max(); }
  // When to call Advance at the latest.
  Loop::Time due() const { return next_look_; }

  // Returns whether the node is being prepared, so that no attempt can use it now.
  bool BeingPrepared(uint32_t node) const;

 private:
  static constexpr std::chrono::milliseconds kLongestPause{60'000};  // between tries

  enum class Stage { kWaiting, kReaching, kPreparing };
  struct Node {
    Stage stage = Stage::kWaiting;
    Loop::Time until{};  // of kWaiting
    base::Backoff backoff{base::RandomNumber(), kLongestPause};
    NodeResults results{1};
  };

  bool Wanted() const;
  // Returns whether it has returned, or is not to be waited for.
  bool Advance(uint32_t number, Node& node, launch::Launcher& launcher);
  void Prepare(uint32_t number, Node& node, launch::Launcher& launcher);
  void Judge(uint32_t number, const launch::LaunchedNode& prepared);

  const StartingJob job_;
  const std::function<void(uint32_t)> leave_out_;
  std::map<uint32_t, Node> nodes_;  // lost, or not yet usable
  Loop::Time next_look_ = Loop::Time::max();
};

}  // namespace autodist::chief
