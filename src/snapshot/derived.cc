#include "snapshot/derived.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ranges.h"
#include "snapshot/state_names.h"

namespace autodist::snapshot {
namespace {

bool IsOver(v1::Mark mark) { return mark == v1::MARK_ENDED || mark == v1::MARK_FAILED; }

// Drops the domains, unless that makes two names equal.
void NameNodes(v1::JobSnapshot& snapshot) {
  const auto is_ip = [](const std::string& address) {
    return address.find(':') != std::string::npos ||
           address.find_first_not_of("0123456789.") == std::string::npos;
  };
  std::map<std::string, int> seen;
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
    const std::string& address = node.address();
    node.set_name(is_ip(address) ? address : address.substr(0, address.find('.')));
    ++seen[node.name()];
  }
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
    if (seen[node.name()] > 1) node.set_name(node.address());
  }
}

// The job's issues by rank index: the worst mark, and the first issue.
struct OfIssues {
  v1::Mark mark = v1::MARK_NONE;
  const v1::Issue* first = nullptr;
};

std::vector<OfIssues> MarkByIssues(v1::JobSnapshot& snapshot) {
  std::vector<OfIssues> ranks(static_cast<size_t>(snapshot.ranks_size()));
  bool others_wait = false;
  for (const v1::Issue& issue : snapshot.issues()) {
    const v1::Mark mark = MarkOf(issue.kind());
    for (const uint32_t rank : issue.ranks()) {
      if (rank >= ranks.size()) continue;
      ranks[rank].mark = std::max(ranks[rank].mark, mark);
      if (!ranks[rank].first) ranks[rank].first = &issue;
    }
    others_wait = others_wait || (mark == v1::MARK_STALLED && !issue.ranks().empty());
    if (!issue.ranks().empty()) continue;  // the nodes are only the places of these ranks
    for (const uint32_t node : issue.nodes()) {
      if (node >= static_cast<uint32_t>(snapshot.nodes_size())) continue;
      v1::NodeSnapshot& of = *snapshot.mutable_nodes(static_cast<int>(node));
      of.set_mark(std::max(of.mark(), mark));
    }
  }
  for (OfIssues& rank : ranks) {
    if (others_wait && rank.mark < v1::MARK_WAITING) rank.mark = v1::MARK_WAITING;
  }
  return ranks;
}

const v1::GpuSample* GpuOf(const v1::NodeSnapshot& node, uint32_t index) {
  const auto& gpus = node.sample().gpus();
  const auto found = std::ranges::find(gpus, index, &v1::GpuSample::index);
  return found == gpus.end() ? nullptr : &*found;
}

// The throttling of a slow rank.
std::string Throttling(const v1::NodeSnapshot& node, const v1::RankSnapshot& rank) {
  std::string text;
  for (const uint32_t index : rank.gpus()) {
    const v1::GpuSample* gpu = GpuOf(node, index);
    if (!gpu) continue;
    for (const std::string& reason : gpu->throttled()) {
      text += (text.empty() ? "throttled: " : ", ") + reason;
    }
  }
  return text;
}

std::string CauseOf(const v1::NodeSnapshot* node, const v1::RankSnapshot& rank,
                    const v1::Issue* issue) {
  if (!rank.ended().empty()) return rank.ended();
  if (!rank.failure().empty()) return rank.failure() + ", and has not ended";
  if (rank.mark() == v1::MARK_SLOW && node) {
    if (std::string text = Throttling(*node, rank); !text.empty()) return text;
  }
  return issue && rank.mark() >= v1::MARK_WARNING ? issue->what() : "";
}

void DeriveRank(v1::JobSnapshot& snapshot, const OfIssues& issues, v1::RankSnapshot& rank) {
  v1::NodeSnapshot* const node = rank.node() < static_cast<uint32_t>(snapshot.nodes_size())
                                     ? snapshot.mutable_nodes(static_cast<int>(rank.node()))
                                     : nullptr;
  v1::Mark mark = MarkOfState(rank.state());
  if (!IsOver(mark)) mark = std::max(mark, issues.mark);
  if (!IsOver(mark) && node) mark = std::max(mark, node->mark());
  rank.set_mark(mark);
  rank.set_state_text(StateText(rank));
  rank.set_cause(CauseOf(node, rank, issues.first));
  if (!node) return;
  const uint32_t number = rank.gpus().empty() ? rank.local_rank() : rank.gpus(0);
  rank.set_where(node->name() + ":" + std::to_string(number));
  if (!rank.auxiliary() && mark > v1::MARK_WAITING) node->set_worst(std::max(node->worst(), mark));
}

void CompareSteps(v1::JobSnapshot& snapshot) {
  std::vector<double> times;
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    rank.clear_step_time();
    rank.clear_relative();
    const double rate = rank.progress().rate();
    if (!(rate > 0) || !std::isfinite(rate) || rank.auxiliary()) continue;
    rank.set_step_time(1 / rate);
    times.push_back(1 / rate);
  }
  snapshot.clear_median_step();
  if (times.empty()) return;
  snapshot.set_median_step(base::Median(times));
  if (times.size() < 2) return;
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) {
    if (rank.has_step_time()) rank.set_relative(rank.step_time() / snapshot.median_step());
  }
}

void SortRanks(v1::JobSnapshot& snapshot) {
  constexpr double kSpread = 20;  // steps of 5 %, so that ranks of normal speed keep their order
  const bool stalled = snapshot.mark() == v1::MARK_STALLED;
  std::vector<std::tuple<double, int64_t, uint32_t>> keyed;
  for (int i = 0; i < snapshot.ranks_size(); ++i) {
    const v1::RankSnapshot& rank = snapshot.ranks(i);
    const double slowness = std::min(std::round(rank.relative() * kSpread) / kSpread, 999.0);
    // In a stalled job, the ranks that have been silent longest come first.
    const int64_t silent = stalled ? rank.last_output_ms() : 0;
    keyed.emplace_back(-1000.0 * static_cast<int>(rank.mark()) - slowness, silent,
                       static_cast<uint32_t>(i));
  }
  std::ranges::sort(keyed);
  snapshot.clear_worst_first();
  for (const auto& [key, silent, index] : keyed) snapshot.add_worst_first(index);
}

}  // namespace

void Derive(v1::JobSnapshot& snapshot) {
  JobState state = StateOf(snapshot);
  snapshot.set_state(std::move(state.words));
  snapshot.set_mark(state.mark);
  NameNodes(snapshot);
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) node.set_mark(MarkOfPhase(node.phase()));
  const std::vector<OfIssues> by_issues = MarkByIssues(snapshot);
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) node.set_worst(node.mark());
  for (int i = 0; i < snapshot.ranks_size(); ++i) {
    DeriveRank(snapshot, by_issues[static_cast<size_t>(i)], *snapshot.mutable_ranks(i));
  }
  CompareSteps(snapshot);
  SortRanks(snapshot);
}

void SetStatus(const v1::JobStatus& job, v1::JobSnapshot& snapshot) {
  *snapshot.mutable_job() = job;
  Derive(snapshot);
}

}  // namespace autodist::snapshot
