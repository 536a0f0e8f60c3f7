// Takes back nodes while the ranks of an attempt run on others: reaches lost nodes again, and when
// nothing of an earlier attempt is left there, prepares them as before the first attempt and
// examines their hardware.
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
  // `leave_out` is called for a node that returned but cannot be used; a node that `is_left_out` is
  // not reached again.
  ReturningNodes(const StartingJob& job,
                 std::function<void(uint32_t node, const std::string& why)> leave_out,
                 std::function<bool(uint32_t node)> is_left_out)
      : job_(job), leave_out_(std::move(leave_out)), is_left_out_(std::move(is_left_out)) {}

  // Called while an attempt runs. `launcher` must outlive its use.
  void Advance(launch::Launcher& launcher);
  // Called when no attempt runs: the next one is made of all nodes, so what is being prepared is
  // cancelled.
  void Pause(launch::Launcher& launcher);
  // When to call Advance at the latest.
  Loop::Time due() const { return next_look_; }

  // Returns whether a call that prepares the node has not ended yet.
  bool IsPreparing(uint32_t node) const;

 private:
  static constexpr std::chrono::milliseconds kLongestPause{60'000};  // between tries

  enum class Stage { kWaiting, kReaching, kPreparing };
  struct Node {
    Stage stage = Stage::kWaiting;
    Loop::Time until{};  // of kWaiting
    base::Backoff backoff{base::RandomNumber(), kLongestPause};
    NodeResults results{0};  // of the call that prepares it
    std::string failed;      // why it could not be prepared; reported
  };

  bool Wanted() const;
  void FindReturned();
  // Returns whether it has returned, or is not to be waited for.
  bool Advance(uint32_t number, Node& node, launch::Launcher& launcher);
  void Prepare(uint32_t number, Node& node, launch::Launcher& launcher);
  bool Judge(uint32_t number, Node& node);

  const StartingJob job_;
  const std::function<void(uint32_t, const std::string&)> leave_out_;
  const std::function<bool(uint32_t)> is_left_out_;
  std::map<uint32_t, Node> nodes_;  // lost, or not yet usable
  Loop::Time next_look_ = Loop::Time::max();
};

}  // namespace autodist::chief
