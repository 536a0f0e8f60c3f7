// AttemptStarter: which nodes there are for another attempt.
#include <algorithm>

#include "base/log.h"
#include "base/quantity.h"
#include "chief/attempt/attempt_starter.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// How long a restart waits for nodes that it can do without.
constexpr milliseconds kSpareNodeLimit{3'000};
constexpr milliseconds kReachAgainInterval{1'000};

}  // namespace

// Those that are there, and those that can be brought back.
std::vector<uint32_t> AttemptStarter::GatherNodes() {
  const uint32_t min_nodes = options_.request().min_nodes();
  loop_.RunUntil([this] { return !nodes_.AnyEvicted() || stop_.requested(); },
                 loop_.Now() + options_.launch.grace() + kSpareNodeLimit);
  const bool enough = min_nodes > 0 && nodes_.staying() >= min_nodes;
  const Loop::Time limit = loop_.Now() + (enough ? kSpareNodeLimit : ComeBackLimit());
  const auto stopped = [this] { return stop_.requested(); };
  for (;;) {
    const std::vector<uint32_t> missing = MissingNodes(enough);
    for (const uint32_t node : missing) {
      // Else it is being connected with again.
      if (!nodes_.state(node).alive()) nodes_.TryRejoin(node, limit);
    }
    AllHold all;
    const auto tried = [&](size_t i) { return !nodes_.BeingLinked(missing[i]); };
    loop_.RunUntil([&] { return all(missing.size(), tried) || stopped(); }, limit);
    EndOnReturned();
    if (MissingNodes(enough).empty() || loop_.Now() >= limit || stopped()) break;
    // An agent of before may have to end first.
    loop_.RunUntil(stopped, std::min(limit, loop_.Now() + kReachAgainInterval));
  }
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_.Stays(i) && nodes_.state(i).drained()) members.push_back(i);
  }
  return members;
}

// As long as a lease; but an engine may have to make a node that calls in anew.
milliseconds AttemptStarter::ComeBackLimit() {
  milliseconds limit = options_.launch.lease();
  std::string called;
  for (const uint32_t i : MissingNodes(false)) {
    const v1::NodePlan& node = plan_.nodes(static_cast<int>(i));
    if (!node.reach().has_called()) continue;
    limit = std::max(limit, milliseconds(node.reach().called().limit_ms()));
    called += (called.empty() ? "" : ", ") + node.address();
  }
  if (limit > options_.launch.lease()) {
    console_.Tell(base::LogLevel::kInfo, "waiting for " + called + " to call again, for " +
                                             base::Elapsed(limit) + " at most");
  }
  return limit;
}

// `enough`: the job can do without those that have just been tried in vain.
std::vector<uint32_t> AttemptStarter::MissingNodes(bool enough) const {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_.Stays(i) && !(enough && nodes_.WasCutOff(i))) missing.push_back(i);
  }
  return missing;
}

// A node that comes back may have ranks of before.
void AttemptStarter::EndOnReturned() {
  nodes_.End(options_.launch.grace(), false);
  std::vector<uint32_t> back;
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_.Connected(i) && !nodes_.state(i).drained()) back.push_back(i);
  }
  AllHold all;
  const auto ended = [&](size_t i) {
    return nodes_.state(back[i]).drained() || !nodes_.Connected(back[i]);
  };
  loop_.RunUntil([&] { return all(back.size(), ended) || stop_.requested(); },
                 loop_.Now() + options_.launch.grace() + kSpareNodeLimit);
}

}  // namespace autodist::chief
