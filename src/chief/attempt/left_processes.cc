#include "chief/attempt/left_processes.h"

#include <algorithm>
#include <string_view>

#include "base/quantity.h"
#include "base/utf8.h"

namespace autodist::chief {
namespace {

// A program that starts others, and does not work itself.
bool IsStartScript(const v1::RankPlan& rank) {
  constexpr std::string_view kShells[] = {"sh",  "bash", "dash", "zsh",
                                          "ksh", "fish", "tcsh", "csh"};
  if (rank.argv().empty()) return false;
  std::string_view name = rank.argv(0);
  name.remove_prefix(name.rfind('/') + 1);  // 0 without a folder
  return std::ranges::count(kShells, name) > 0 || name.ends_with(".sh");
}

}  // namespace

std::string ProcessName(const v1::LeftProcess& process) {
  return base::Printable(process.name()) + " (pid " + std::to_string(process.pid()) + ")";
}

std::string TextOfLeft(const v1::ProcessesLeft& left, const v1::NodePlan& node, bool all_ended) {
  if (left.processes().empty()) return "";
  const v1::LeftProcess& first = left.processes(0);
  const auto rank = std::ranges::find(node.ranks(), first.rank(), &v1::RankPlan::rank);
  const bool known = first.has_rank() && rank != node.ranks().end();
  std::string which = ProcessName(first) + " on " + node.address() + ", which " +
                      (known ? rank->name() : "a rank") + " left";
  const auto others = static_cast<size_t>(left.processes_size() - 1);
  if (others > 0) which += ", and " + base::Count(others, "other") + " there";
  if (left.stage() == v1::LEFT_STAGE_AWAITED) {
    return (all_ended ? "no rank runs any more; waiting for " : "waiting for ") + which;
  }
  if (left.stage() != v1::LEFT_STAGE_KILLED) return "";
  return which + (others > 0 ? ", did not end in time and were killed"
                             : ", did not end in time and was killed");
}

const v1::LeftProcess* LeftByScript(const v1::ProcessesLeft& left, const v1::NodePlan& node,
                                    uint32_t rank) {
  const auto plan = std::ranges::find(node.ranks(), rank, &v1::RankPlan::rank);
  if (plan == node.ranks().end() || !IsStartScript(*plan)) return nullptr;
  const auto process = std::ranges::find_if(left.processes(), [&](const v1::LeftProcess& one) {
    return one.has_rank() && one.rank() == rank;
  });
  return process != left.processes().end() ? &*process : nullptr;
}

}  // namespace autodist::chief
