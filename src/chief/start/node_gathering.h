// Which nodes there are for another attempt: those that are there, and those that can be brought
// back in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "chief/fleet/all_hold.h"
#include "chief/loop/loop.h"
#include "chief/start/starting_job.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class NodeGathering {
 public:
  explicit NodeGathering(const StartingJob& job) : job_(job) {}

  void Begin();
  // Goes on as far as it can now; whether it has ended: all nodes are there, there is no more time,
  // or the job is told to stop.
  bool Advance();
  // When to call that again at the latest.
  Loop::Time due() const { return until_; }

  // Nodes that stay, and on which nothing is left of attempts before.
  std::vector<uint32_t> found() const;

 private:
  enum class Stage {
    kEvictions,  // nodes that are about to go do so
    kReaching,   // those that are missing are reached again
    kDraining,   // what those that came back may run ends
    kPause,      // an agent of before may have to end first
    kEnded,
  };

  bool StageIsOver();
  Stage Next();
  void Reach();
  void Drain();
  std::chrono::milliseconds ReturnLimit();
  std::vector<uint32_t> Missing(bool enough) const;

  const StartingJob job_;
  Stage stage_ = Stage::kEnded;
  Loop::Time until_ = Loop::Time::max();  // of the stage
  Loop::Time limit_{};                    // of the whole, from kReaching on
  bool enough_ = false;                   // the job can do without those that are missing
  std::vector<uint32_t> awaited_;         // of the stage
  AllHold all_;
};

}  // namespace autodist::chief
