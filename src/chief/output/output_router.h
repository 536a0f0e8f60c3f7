// Routes output of ranks from the nodes to the attempt that it belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/loop/loop.h"
#include "chief/output/console.h"

namespace autodist::chief {

// Thread-safe; never blocks. Called on gRPC's threads.
class OutputRouter {
 public:
  // `loop` is the clock.
  OutputRouter(const Loop& loop, Console& console) : loop_(loop), console_(console) {}

  // Routes output of the plan's ranks to `logs`. `members`: the nodes of the job that are the
  // plan's nodes, in its order.
  void Begin(std::shared_ptr<RankLogs> logs, const v1::LaunchPlan& plan,
             const std::vector<uint32_t>& members);
  // Ends incomplete lines; later output is dropped.
  void End();

  // Drops and acknowledges output of a rank that does not belong to the node, or of an attempt that
  // the node is not in.
  void Write(uint32_t node, v1::Output output);

  // Takes a line that a rank wrote to AUTODIST_PROGRESS, with the same exceptions.
  void TakeProgressLine(uint32_t node, const v1::ProgressLine& reported);

  // When the last output arrived that was not requested (IsRequestedOutput).
  Loop::Time last() const { return last_; }
  // The same, since 1970; 0: none.
  int64_t last_ms() const;
  // When the last line of AUTODIST_PROGRESS arrived.
  Loop::Time last_progress() const { return last_progress_; }

 private:
  // Returns the destination; null: none. mutex_ held.
  std::shared_ptr<RankLogs> LogsOf(uint32_t node, uint32_t rank);

  const Loop& loop_;
  Console& console_;
  std::atomic<Loop::Time> last_ = Loop::Time{};
  std::atomic<Loop::Time> last_progress_ = Loop::Time{};

  std::mutex mutex_;
  std::shared_ptr<RankLogs> logs_;             // guarded by mutex_; null: dropped
  std::map<uint32_t, uint32_t> node_of_rank_;  // guarded by mutex_
};

}  // namespace autodist::chief
