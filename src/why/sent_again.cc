#include "why/sent_again.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"
#include "why/rank_processes.h"

namespace autodist::why {
namespace {

constexpr size_t kShownPairs = 4;  // shown as evidence

struct Pair {
  uint64_t again = 0;
  uint64_t sent = 0;
  uint64_t unanswered = 0;
  uint32_t rank = 0;  // one of the sending ranks
};

using Pairs = std::map<std::pair<std::string, std::string>, Pair>;  // from, to

void Add(const v1::JobSnapshot& snapshot, const RankActivity& rank, Pairs& pairs) {
  const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank.rank);
  const v1::NodeSnapshot* node = of ? snapshot::NodeOf(snapshot, *of) : nullptr;
  if (!node || !rank.earlier) return;
  for (const SentAgain& now : rank.now.sent_again) {
    const auto& earlier = rank.earlier->sent_again;
    const auto before = std::ranges::find(earlier, now.peer, &SentAgain::peer);
    const SentAgain none;
    const SentAgain& from = before == earlier.end() ? none : *before;
    Pair& pair = pairs[{node->address(), now.peer}];
    pair.again += now.again - std::min(from.again, now.again);
    pair.sent += now.sent - std::min(from.sent, now.sent);
    if (before != earlier.end())
      pair.unanswered = std::max(pair.unanswered, std::min(now.unanswered, from.unanswered));
    pair.rank = rank.rank;
  }
}

bool IsMuch(uint64_t again, uint64_t sent) {
  return again >= issues::kMinRetransmits &&
         static_cast<double>(again) >= issues::kMinRetransmitShare * static_cast<double>(sent);
}

bool IsDead(const Pair& pair) { return pair.unanswered >= issues::kUnansweredSegments; }

bool Loses(const Pair& pair) { return IsDead(pair) || IsMuch(pair.again, pair.sent); }

std::string Lost(const Pair& pair) {
  if (IsDead(pair))
    return "sent again " + std::to_string(pair.unanswered) + " times without an answer";
  return std::to_string(pair.again) + " of " + std::to_string(std::max(pair.sent, pair.again)) +
         " segments were sent again between two samples";
}

}  // namespace

std::optional<v1::Issue> SentAgainCause(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  Pairs pairs;
  for (const RankActivity& rank : ranks) Add(snapshot, rank, pairs);
  std::erase_if(pairs, [](const auto& pair) { return !Loses(pair.second); });
  if (pairs.empty()) return std::nullopt;
  const auto worst = std::ranges::max_element(pairs, {}, [](const auto& pair) {
    return std::pair(IsDead(pair.second), pair.second.again);
  });
  const auto& [between, most] = *worst;
  v1::Issue issue;
  issue.set_kind(IsDead(most) ? v1::Issue::KIND_STALLED : v1::Issue::KIND_SLOW);
  const std::string from = base::Printable(between.first);
  const std::string to = base::Printable(between.second);
  issue.set_what(IsDead(most) ? "between " + from + " and " + to +
                                    " the network loses what ranks send: it was " + Lost(most)
                              : "the network loses part of what " + from + " sends to " + to +
                                    ": " + Lost(most));
  size_t shown = 0;
  for (const auto& [places, pair] : pairs) {
    const v1::RankSnapshot* of = snapshot::FindRank(snapshot, pair.rank);
    if (of && std::ranges::count(issue.nodes(), of->node()) == 0) issue.add_nodes(of->node());
    if (shown++ >= kShownPairs) continue;
    issues::AddEvidence(issue, base::Printable(places.first + " to " + places.second), Lost(pair),
                        "sock_diag");
  }
  return issue;
}

}  // namespace autodist::why
