#include "why/connections.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"
#include "why/rank_processes.h"
#include "why/work_between.h"

namespace autodist::why {
namespace {

constexpr uint64_t kUnansweredOnce = 2;  // SYNs that were sent again, with one sample: 3 seconds
constexpr uint64_t kMinFailed = 2;       // a single attempt may be another program's
constexpr size_t kShownAttempts = 5;     // ranks shown as evidence

constexpr char kUnanswered[] = "the attempts (SYN) are not answered";
constexpr char kRefused[] =
    "the attempts are refused: no program listens there, or a firewall rejects them";
constexpr char kRejected[] = "the attempts are rejected on the way, or given up";

// What a rank cannot connect to.
struct Unreachable {
  std::string to;
  std::string how;  // one of the above
  std::string evidence;
};

// The place where the ranks meet, or one on this machine, where a program may look by mistake.
bool IsMeetingPlace(const std::string& to, const Rendezvous& given) {
  return to.starts_with("127.") || to.starts_with("[::1]:") ||
         to.substr(0, to.rfind(':')) == given.address;
}

// Where rank 0 listens.
bool IsGiven(const std::string& to, const Rendezvous& given) {
  const std::string port = ":" + given.port;
  return to == given.address + port || to == "[" + given.address + "]" + port;
}

// Connections of other threads and programs, for example for telemetry, hold no rank up. Without
// frames, they are not known to be the rank's.
bool MayHoldUp(const RankActivity& rank, const std::string& to, const Rendezvous& given) {
  return rank.now.connects || (!rank.now.has_frames && IsMeetingPlace(to, given));
}

// The destination that has not answered for longest.
std::optional<Unreachable> UnansweredOf(const RankActivity& rank, const Rendezvous& given,
                                        bool stalled) {
  const Connecting* worst = nullptr;
  for (const Connecting& one : rank.now.connecting) {
    const bool twice = rank.earlier && one.again > 0 &&
                       std::ranges::count(rank.earlier->connecting, one.to, &Connecting::to) > 0;
    const bool lasts = twice || (stalled && one.again >= kUnansweredOnce);
    if (!lasts || !MayHoldUp(rank, one.to, given)) continue;
    if (!worst || one.again > worst->again) worst = &one;
  }
  if (!worst) return std::nullopt;
  return Unreachable{base::Printable(worst->to), kUnanswered,
                     "the SYN was sent again " + base::Count(worst->again, "time")};
}

// The destination with the most failed attempts, refused ones first. `awaited`: rank 0 does not
// listen yet.
std::optional<Unreachable> FailedOf(const RankActivity& rank, const Rendezvous& given,
                                    bool awaited) {
  const NodeFacts::Failed* worst = nullptr;
  for (const NodeFacts::Failed& one : rank.now.node.failed) {
    if (one.number < kMinFailed || !MayHoldUp(rank, one.to, given)) continue;
    if (awaited && IsGiven(one.to, given)) continue;
    if (!worst || std::tuple(one.refused, one.number) > std::tuple(worst->refused, worst->number)) {
      worst = &one;
    }
  }
  if (!worst) return std::nullopt;
  return Unreachable{base::Printable(worst->to), worst->refused ? kRefused : kRejected,
                     base::Count(worst->number, "attempt") + " failed on its node"};
}

// Otherwise, failed attempts, which are known of a node, may be of any of the ranks there.
bool AreOnDifferentNodes(const v1::JobSnapshot& snapshot, const std::vector<uint32_t>& ranks) {
  std::set<uint32_t> nodes;
  for (const uint32_t rank : ranks) {
    if (const auto* of = snapshot::FindRank(snapshot, rank)) nodes.insert(of->node());
  }
  return nodes.size() == ranks.size();
}

// "; autodist gave MASTER_ADDR=10.0.0.1 and MASTER_PORT=29500". Only for ranks that look for each
// other: they connect to other addresses later.
std::string Beside(const Rendezvous& given, const std::string& to, const Activity& activity) {
  if (given.address.empty() || IsGiven(to, given) || (activity.has_frames && !activity.meets))
    return "";
  return "; autodist gave MASTER_ADDR=" + base::Printable(given.address) +
         " and MASTER_PORT=" + base::Printable(given.port);
}

bool StandsAtSocket(const RankActivity& rank) {
  const bool loses = std::ranges::any_of(rank.now.sent_again, [](const SentAgain& sent) {
    return sent.unanswered >= issues::kUnansweredSegments;
  });
  return !rank.now.awaits_end.empty() && !rank.now.AtWork() && Stands(&rank) && !loses &&
         rank.earlier->awaits_end == rank.now.awaits_end && !MovesData(*rank.earlier, rank.now);
}

bool IsOnOneNode(const v1::JobSnapshot& snapshot, const RankActivity& one,
                 const RankActivity& other) {
  const auto* of_one = snapshot::FindRank(snapshot, one.rank);
  const auto* of_other = snapshot::FindRank(snapshot, other.rank);
  return of_one && of_other && of_one->node() == of_other->node();
}

// By the end of a connection, the ranks that have it. Addresses such as 127.0.0.1 are of each node.
using Owners = std::multimap<std::string_view, const RankActivity*>;

Owners OwnersOf(const Ranks& ranks) {
  Owners owners;
  for (const RankActivity* rank : ranks) {
    for (const std::string& end : rank->now.own_ends) owners.emplace(end, rank);
  }
  return owners;
}

// Whether `other`, which has the end at which `rank` waits, is meant.
bool IsMeant(const v1::JobSnapshot& snapshot, const RankActivity& rank, const RankActivity& other) {
  const std::string_view end = rank.now.awaits_end;
  const bool is_local = end.starts_with("127.") || end.starts_with("[::1]:");
  return !is_local || IsOnOneNode(snapshot, rank, other);
}

// The rank for which `rank` waits; nullptr: unknown, or itself. At the rendezvous port, a thread of
// rank 0 answers when any other rank has set a key.
const RankActivity* AwaitedBy(const v1::JobSnapshot& snapshot, const RankActivity& rank,
                              const Owners& owners, const Rendezvous& given) {
  const std::string_view end = rank.now.awaits_end;
  if (!given.port.empty() && end.ends_with(":" + given.port)) return nullptr;
  const auto [first, last] = owners.equal_range(end);
  for (auto owner = first; owner != last; ++owner) {
    const RankActivity& other = *owner->second;
    if (other.rank != rank.rank && IsMeant(snapshot, rank, other)) return &other;
  }
  return nullptr;
}

// The ranks of the circle that `first` leads to, each before the one for which it waits; empty:
// none. `seen`: ranks that lead to none.
Ranks CircleFrom(const v1::JobSnapshot& snapshot, const RankActivity& first, const Owners& owners,
                 const Rendezvous& given, std::set<const RankActivity*>& seen) {
  Ranks path;
  const RankActivity* at = &first;
  while (at && seen.insert(at).second && StandsAtSocket(*at)) {
    path.push_back(at);
    at = AwaitedBy(snapshot, *at, owners, given);
  }
  return {std::ranges::find(path, at), path.end()};
}

}  // namespace

std::optional<v1::Issue> CircleCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                     const Rendezvous& given) {
  constexpr size_t kShownInCircle = 4;
  // One of the circle may serve others, and answer when they are done.
  if (std::ranges::any_of(ranks, [](const RankActivity& rank) { return rank.now.MayBeAtWork(); })) {
    return std::nullopt;
  }
  const Owners owners = OwnersOf(All(ranks));
  Ranks circle;
  std::set<const RankActivity*> seen;
  for (size_t i = 0; i < ranks.size() && circle.empty(); ++i) {
    circle = CircleFrom(snapshot, ranks[i], owners, given, seen);
  }
  if (circle.empty()) return std::nullopt;
  const auto lowest = std::ranges::min_element(circle, {}, &RankActivity::rank);
  std::rotate(circle.begin(), lowest, circle.end());
  std::string text;
  for (size_t i = 0; i < std::min(circle.size(), kShownInCircle); ++i) {
    const RankActivity& next = *circle[(i + 1) % circle.size()];
    text += (i == 0 ? "" : ", ") + snapshot::RankName(snapshot, circle[i]->rank) + " for rank " +
            std::to_string(next.rank) +
            (circle[i]->now.place.empty() ? "" : " in " + circle[i]->now.place);
  }
  if (circle.size() > kShownInCircle) text += " and so on";
  Ranks sorted = circle;
  std::ranges::sort(sorted, {}, &RankActivity::rank);
  return StalledIssue(
      snapshot, Numbers(sorted),
      snapshot::RanksName(Numbers(sorted)) + " wait for each other at their sockets: " + text);
}

Ranks AwaitingRanks(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  const Owners owners = OwnersOf(ranks);
  Ranks awaiting;
  std::ranges::copy_if(ranks, std::back_inserter(awaiting), [&](const RankActivity* rank) {
    const auto [first, last] = owners.equal_range(rank->now.awaits_end);
    return std::any_of(first, last,
                       [&](const auto& owner) { return IsMeant(snapshot, *rank, *owner.second); });
  });
  return awaiting;
}

std::optional<v1::Issue> CannotConnectCause(const v1::JobSnapshot& snapshot,
                                            const Activities& ranks, const Rendezvous& given,
                                            bool stalled) {
  const bool has_steps = std::ranges::any_of(
      snapshot.ranks(), [](const v1::RankSnapshot& rank) { return rank.progress().has_step(); });
  // Its process may only be starting to listen.
  const bool any_at_work =
      std::ranges::any_of(ranks, [](const RankActivity& rank) { return rank.now.MayBeAtWork(); });
  const bool first_awaited = std::ranges::any_of(ranks, [](const RankActivity& rank) {
    return rank.rank == 0 && rank.now.has_frames && !rank.now.meets;
  });
  std::map<std::pair<std::string, std::string>, Ranks> alike;  // by destination and failure
  std::map<const RankActivity*, std::string> evidence;
  for (const RankActivity& rank : ranks) {
    if (rank.now.AtWork() || (!rank.now.has_frames && has_steps)) continue;
    auto found = UnansweredOf(rank, given, stalled);
    if (!found && !any_at_work) found = FailedOf(rank, given, first_awaited);
    if (!found) continue;
    alike[{found->to, found->how}].push_back(&rank);
    evidence[&rank] = "connects to " + found->to + "; " + found->evidence;
  }
  if (alike.empty()) return std::nullopt;
  const auto& [where, who] =
      *std::ranges::max_element(alike, {}, [](const auto& one) { return one.second.size(); });
  const auto& [to, how] = where;
  const std::vector<uint32_t> numbers = Numbers(who);
  const bool is_sure = how == kUnanswered || AreOnDifferentNodes(snapshot, numbers);
  v1::Issue issue =
      StalledIssue(snapshot, is_sure ? numbers : std::vector<uint32_t>(),
                   (is_sure ? "" : "some of ") + NamesOf(snapshot, who) + " cannot connect to " +
                       to + ": " + how + Beside(given, to, who[0]->now));
  for (size_t i = 0; i < std::min(who.size(), kShownAttempts); ++i) {
    issues::AddEvidence(issue, snapshot::RankName(snapshot, who[i]->rank), evidence[who[i]],
                        "sock_diag");
  }
  return issue;
}

}  // namespace autodist::why
