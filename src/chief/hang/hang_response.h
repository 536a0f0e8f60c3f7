// What is done where ranks seem to hang, or the user wants to know what they are doing: their
// stacks are written down.
#pragma once

#include <optional>

#include "autodist/v1/agent.pb.h"
#include "chief/attempt/attempt.h"
#include "chief/attempt/job_options.h"
#include "chief/hang/hang_watch.h"
#include "chief/hang/stack_file.h"
#include "chief/loop/loop.h"
#include "chief/nodes/node_watch.h"
#include "chief/output/console.h"

namespace autodist::chief {

// For the loop's thread; never blocks.
class HangResponse {
 public:
  // What is given must outlive it.
  HangResponse(const JobOptions& options, Loop& loop, NodeWatch& nodes, Console& console)
      : on_hang_(options.on_hang),
        watch_(options.hang_timeout),
        loop_(loop),
        nodes_(nodes),
        console_(console) {}

  // Ranks start: what was asked of others does not count any more.
  void BeginAttempt() {
    Finish();
    stop_after_ = false;
    watch_.Alive(loop_.Now());
  }
  // A rank, or what it may be waiting for, gave a sign of life.
  void Alive(Loop::Time when) { watch_.Alive(when); }
  // Whether the ranks of a running attempt hang since just now; their stacks are asked for.
  bool Hangs(const Attempt& attempt);

  // Asks every member for the stacks of its ranks.
  void AskForStacks(const Attempt& attempt);
  void Take(const Attempt& attempt, uint32_t member, const v1::RankStacks& stacks);
  void NodeIsGone(uint32_t node);

  // Whether the ranks have to be stopped now: they hang, and their stacks are as complete as they
  // will be.
  bool StopIsDue();
  // When to ask again for either, and for Hangs only while the ranks are running.
  Loop::Time next(bool running) const { return running ? std::min(due_, watch_.next()) : due_; }
  // Waits for no more stacks.
  void Finish();

 private:
  const OnHang on_hang_;
  HangWatch watch_;
  Loop& loop_;
  NodeWatch& nodes_;
  Console& console_;
  std::optional<StackFile> stacks_;  // while nodes are being asked
  Loop::Time due_ = Loop::Time::max();
  bool stop_after_ = false;
};

}  // namespace autodist::chief
