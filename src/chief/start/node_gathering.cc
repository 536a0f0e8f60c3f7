#include "chief/start/node_gathering.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/quantity.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// The time for a restart to wait for nodes that it can do without.
constexpr milliseconds kOptionalNodeLimit{3'000};
constexpr milliseconds kReachAgainInterval{1'000};

}  // namespace

void NodeGathering::Begin(Suffice suffice) {
  suffice_ = std::move(suffice);
  stage_ = Stage::kEvictions;
  until_ = job_.loop.Now() + job_.options.launch.grace() + kOptionalNodeLimit;
}

bool NodeGathering::Advance() {
  while (stage_ != Stage::kEnded) {
    if (!job_.stop.requested() && job_.loop.Now() < until_ && !StageIsOver()) return false;
    const bool first = stage_ == Stage::kEvictions;
    stage_ = job_.stop.requested() ? Stage::kEnded : Next();
    until_ = Loop::Time::max();
    if (first) {
      const uint32_t min_nodes = job_.options.request().min_nodes();
      enough_ = min_nodes > 0 && job_.nodes.staying() >= min_nodes;
      limit_ = job_.loop.Now() + (enough_ ? kOptionalNodeLimit : ReturnLimit());
    }
    if (stage_ == Stage::kReaching) Reach();
    if (stage_ == Stage::kLeases) until_ = RanksGoneAt();
    if (stage_ == Stage::kDraining) Drain();
    if (stage_ == Stage::kPause) until_ = std::min(limit_, job_.loop.Now() + kReachAgainInterval);
  }
  return true;
}

bool NodeGathering::StageIsOver() {
  switch (stage_) {
    case Stage::kEvictions:
      return !job_.nodes.AnyEvicted() || StayingSuffice();
    case Stage::kReaching:
      return all_(awaited_.size(), [&](size_t i) { return !job_.nodes.BeingLinked(awaited_[i]); });
    case Stage::kDraining:
      return all_(awaited_.size(), [&](size_t i) {
        return job_.nodes.state(awaited_[i]).drained() || !job_.nodes.Connected(awaited_[i]);
      });
    case Stage::kLeases:
    case Stage::kPause:
    case Stage::kEnded:
      break;
  }
  return false;
}

NodeGathering::Stage NodeGathering::Next() {
  switch (stage_) {
    case Stage::kEvictions:
    case Stage::kPause:
      return StayingSuffice() ? Stage::kLeases : Stage::kReaching;
    case Stage::kReaching:
      return Stage::kLeases;
    case Stage::kLeases:
      return Stage::kDraining;
    case Stage::kDraining:
      return suffice_(found()) || Missing(enough_).empty() || job_.loop.Now() >= limit_
                 ? Stage::kEnded
                 : Stage::kPause;
    case Stage::kEnded:
      break;
  }
  return Stage::kEnded;
}

void NodeGathering::Reach() {
  awaited_ = Missing(enough_);
  for (const uint32_t node : awaited_) {
    // A live node is being reconnected already.
    if (!job_.nodes.state(node).alive()) job_.nodes.TryRejoin(node, limit_);
  }
  all_ = {};
  until_ = limit_;
}

// Never two of a rank at a time, even if a node only lost its connection.
Loop::Time NodeGathering::RanksGoneAt() const {
  Loop::Time gone = Loop::Time::min();
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (!job_.nodes.Connected(i)) gone = std::max(gone, job_.nodes.RanksGoneAt(i));
  }
  return gone;
}

// A node that rejoins may have ranks of an earlier attempt.
void NodeGathering::Drain() {
  job_.nodes.End(job_.options.launch.grace(), false);
  awaited_.clear();
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (job_.nodes.Connected(i) && !job_.nodes.state(i).drained()) awaited_.push_back(i);
  }
  all_ = {};
  until_ = job_.loop.Now() + job_.options.launch.grace() + kOptionalNodeLimit;
}

std::vector<uint32_t> NodeGathering::found() const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (job_.nodes.Stays(i) && job_.nodes.state(i).drained()) found.push_back(i);
  }
  return found;
}

// A lease, or longer if a scheduler may have to create a node that connects back.
milliseconds NodeGathering::ReturnLimit() {
  milliseconds limit = job_.options.launch.lease();
  std::string called;
  for (const uint32_t i : Missing(false)) {
    const v1::NodePlan& node = job_.plan.nodes(static_cast<int>(i));
    if (!node.reach().has_callback()) continue;
    limit = std::max(limit, milliseconds(node.reach().callback().limit_ms()));
    called += (called.empty() ? "" : ", ") + node.address();
  }
  if (limit > job_.options.launch.lease()) {
    job_.console.Log(base::LogLevel::kInfo, "waiting for " + called + " to connect again, for " +
                                                base::Elapsed(limit) + " at most");
  }
  return limit;
}

// Whether no missing node has to be waited for, because spares can take its place.
bool NodeGathering::StayingSuffice() const {
  std::vector<uint32_t> staying;
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (job_.nodes.Stays(i)) staying.push_back(i);
  }
  return suffice_(staying);
}

// `enough`: omits nodes that were just tried in vain.
std::vector<uint32_t> NodeGathering::Missing(bool enough) const {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (!job_.nodes.Stays(i) && !(enough && job_.nodes.WasCutOff(i))) missing.push_back(i);
  }
  return missing;
}

}  // namespace autodist::chief
