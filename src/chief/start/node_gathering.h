// Finds the nodes for another attempt: connected nodes, and nodes that rejoin in time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "chief/fleet/all_hold.h"
#include "chief/loop/loop.h"
#include "chief/start/starting_job.h"

namespace autodist::chief {

// Used on the loop's thread only; never blocks.
class NodeGathering {
 public:
  explicit NodeGathering(const StartingJob& job) : job_(job) {}

  // `suffice`: whether these nodes can take all places of the attempt.
  using Suffice = std::function<bool(const std::vector<uint32_t>& nodes)>;
  void Begin(Suffice suffice);
  // Continues as far as possible now; returns whether it has ended: all nodes are available, the
  // time is over, or the job was asked to stop.
  bool Advance();
  // When to call Advance at the latest.
  Loop::Time due() const { return until_; }

  // Returns the nodes that stay and run nothing of earlier attempts.
  std::vector<uint32_t> found() const;

 private:
  enum class Stage {
    kEvictions,  // waits until evicted nodes are gone
    kReaching,   // reconnects missing nodes
    kLeases,     // waits until nodes that cannot be reached have ended their ranks
    kDraining,   // ends what rejoined nodes may still run
    kPause,      // an earlier agent may have to end first
    kEnded,
  };

  bool StageIsOver();
  Stage Next();
  void Reach();
  Loop::Time RanksGoneAt() const;
  void Drain();
  std::chrono::milliseconds ReturnLimit();
  std::vector<uint32_t> Missing(bool enough) const;
  bool StayingSuffice() const;

  const StartingJob job_;
  Suffice suffice_;
  Stage stage_ = Stage::kEnded;
  Loop::Time until_ = Loop::Time::max();  // of the stage
  Loop::Time limit_{};                    // of all stages from kReaching on
  bool enough_ = false;                   // the job can start without the missing nodes
  std::vector<uint32_t> awaited_;         // nodes of the stage
  AllHold all_;
};

}  // namespace autodist::chief
