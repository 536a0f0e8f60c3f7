// What nodes send of their ranks' output, on its way to the attempt that it belongs to.
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

// Thread-safe; never blocks. What gRPC's threads call of a job.
class OutputRouter {
 public:
  // The loop gives the time.
  OutputRouter(const Loop& loop, Console& console) : loop_(loop), console_(console) {}

  // From now on the output of the plan's ranks goes to `logs`. `members` are the nodes of the job
  // that are the plan's nodes, in its order.
  void Begin(std::shared_ptr<RankLogs> logs, const v1::LaunchPlan& plan,
             const std::vector<uint32_t>& members);
  // From now on nobody wants any; the lines that have not ended end.
  void End();

  // Of a rank that is not the node's, or of an attempt that went on without the node, nothing is
  // kept, and all acknowledged.
  void Write(uint32_t node, v1::Output output);

  // What a rank has written to AUTODIST_PROGRESS; likewise.
  void Tell(uint32_t node, const v1::ProgressLine& reported);

  // When output came last that nobody had asked for (IsAskedFor).
  Loop::Time last() const { return last_; }
  // The same, since 1970; 0: none has come.
  int64_t last_ms() const;

 private:
  // Where that goes; null: nowhere. mutex_ held.
  std::shared_ptr<RankLogs> LogsOf(uint32_t node, uint32_t rank);

  const Loop& loop_;
  Console& console_;
  std::atomic<Loop::Time> last_ = Loop::Time{};

  std::mutex mutex_;
  std::shared_ptr<RankLogs> logs_;             // guarded by mutex_; null: nobody wants any
  std::map<uint32_t, uint32_t> node_of_rank_;  // guarded by mutex_
};

}  // namespace autodist::chief
