#include "chief/output/output_router.h"

#include <chrono>
#include <utility>

#include "base/wall_clock.h"

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

void OutputRouter::Write(uint32_t node, v1::Output output) {
  last_ = loop_.Now();
  {
    const std::lock_guard lock(mutex_);
    const auto found = node_of_rank_.find(output.rank());
    if (logs_ && found != node_of_rank_.end() && found->second == node) {
      console_.Write(logs_, node, std::move(output));
      return;
    }
  }
  console_.Write(nullptr, node, std::move(output));
}

int64_t OutputRouter::last_ms() const {
  const Loop::Time last = last_;
  if (last == Loop::Time{}) return 0;
  return base::MillisecondsSince1970() -
         std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Now() - last).count();
}

}  // namespace autodist::chief
