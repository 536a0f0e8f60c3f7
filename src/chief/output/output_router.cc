#include "chief/output/output_router.h"

#include <chrono>
#include <utility>

#include "base/wall_clock.h"
#include "chief/output/rank_logs.h"

namespace autodist::chief {

void OutputRouter::Begin(std::shared_ptr<RankLogs> logs, const v1::LaunchPlan& plan,
                         const std::vector<uint32_t>& members) {
  const std::lock_guard lock(mutex_);
  logs_ = std::move(logs);
  node_of_rank_.clear();
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      node_of_rank_[rank.rank()] = members[node.node_rank()];
    }
  }
}

void OutputRouter::End() {
  std::shared_ptr<RankLogs> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = std::exchange(logs_, nullptr);
  }
  if (ended) console_.EndLines(std::move(ended));
}

std::shared_ptr<RankLogs> OutputRouter::LogsOf(uint32_t node, uint32_t rank) {
  const auto found = node_of_rank_.find(rank);
  return found != node_of_rank_.end() && found->second == node ? logs_ : nullptr;
}

void OutputRouter::Write(uint32_t node, v1::Output output) {
  if (!IsRequestedOutput(output.data())) last_ = loop_.Now();
  const std::lock_guard lock(mutex_);
  std::shared_ptr<RankLogs> logs = LogsOf(node, output.rank());
  console_.Write(std::move(logs), node, std::move(output));
}

void OutputRouter::TakeProgressLine(uint32_t node, const v1::ProgressLine& reported) {
  std::shared_ptr<RankLogs> logs;
  {
    const std::lock_guard lock(mutex_);
    logs = LogsOf(node, reported.rank());
  }
  if (!logs) return;
  last_progress_ = loop_.Now();
  logs->TakeProgressLine(reported.rank(), reported.line(), loop_.Now());
}

int64_t OutputRouter::last_ms() const {
  const Loop::Time last = last_;
  if (last == Loop::Time{}) return 0;
  return base::MillisecondsSince1970() -
         std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Now() - last).count();
}

}  // namespace autodist::chief
