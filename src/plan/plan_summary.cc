#include "plan/plan_summary.h"

#include <algorithm>
#include <vector>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/shell_quote.h"
#include "base/text_table.h"
#include "plan/plan_text.h"

namespace autodist::plan {
namespace {

constexpr int kMaxNodes = 8;  // in the table

// Formats "0-3,7"; "-" for no numbers.
std::string Ranges(std::vector<uint32_t> numbers) {
  std::ranges::sort(numbers);
  return numbers.empty() ? "-" : base::RangesText(numbers, ",");
}

base::TextRow RowOf(const v1::NodePlan& node) {
  std::vector<uint32_t> ranks;
  std::vector<uint32_t> gpus;
  std::vector<uint32_t> cpus;
  size_t by_uuid = 0;
  for (const v1::RankPlan& rank : node.ranks()) {
    if (rank.auxiliary()) continue;
    ranks.push_back(rank.rank());
    if (!rank.has_device()) continue;
    const bool gpu = rank.device().kind() == v1::DEVICE_KIND_GPU;
    if (!rank.device().uuid().empty()) {
      ++by_uuid;  // has no number
    } else {
      (gpu ? gpus : cpus).push_back(rank.device().index());
    }
  }
  std::string devices;
  if (!gpus.empty()) devices = "gpu " + Ranges(gpus);
  if (by_uuid > 0) devices = base::Count(by_uuid, "GPU") + " by UUID";
  if (!cpus.empty()) devices += (devices.empty() ? "cpu " : ", cpu ") + Ranges(cpus);
  return {node.address() + DataAddressAsText(node), Ranges(ranks), devices.empty() ? "-" : devices,
          ReachAsText(node.reach())};
}

std::string NodeTable(const v1::LaunchPlan& plan) {
  const int nodes = plan.nodes_size();
  const bool all = nodes <= kMaxNodes;
  std::vector<base::TextRow> rows = {{"NODE", "RANKS", "DEVICES", "REACHED BY"}};
  for (int i = 0; i < (all ? nodes : kMaxNodes - 2); ++i) rows.push_back(RowOf(plan.nodes(i)));
  if (!all) {
    const auto more = static_cast<size_t>(nodes) - kMaxNodes + 1;
    rows.push_back({"… " + base::Count(more, "more node"), "", "", ""});
    rows.push_back(RowOf(plan.nodes(nodes - 1)));
  }
  return base::TextTable(rows);
}

// Formats the command of the ranks, if it is the same for all.
std::string ProgramText(const v1::LaunchPlan& plan) {
  const v1::RankPlan* first = nullptr;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary()) continue;
      if (!first) first = &rank;
      if (!std::ranges::equal(rank.argv(), first->argv())) {
        return "rank 0 runs: " + base::ShellLine({first->argv().begin(), first->argv().end()}) +
               "\nothers have other arguments\n";
      }
    }
  }
  if (!first) return "";
  return "each rank runs: " + base::ShellLine({first->argv().begin(), first->argv().end()}) + "\n";
}

}  // namespace

std::string PlanSummary(const v1::LaunchPlan& plan) {
  return "job " + plan.job_id() + ": " + WhatRuns(plan) + ", in " + plan.working_directory() +
         "\n\n" + NodeTable(plan) + "\n" + ProgramText(plan) +
         "nothing was started; --verbose also shows the environment of nodes and ranks\n";
}

}  // namespace autodist::plan
