#include "display/shown_ranks.h"

#include <algorithm>
#include <set>

#include "base/did_you_mean.h"
#include "base/parse_number.h"
#include "base/quantity.h"

namespace autodist::display {
namespace {

constexpr std::string_view kLocal = "local";
constexpr std::string_view kNode = "node:";

// "gpu3" for gpu3.cluster.example.
std::string_view FirstLabel(std::string_view address) {
  return address.substr(0, address.find('.'));
}

}  // namespace

Result<ShownRanks> ShownRanks::Parse(std::string_view text) {
  ShownRanks shown;
  if (text == "all") return shown;
  if (text == "none") {
    shown.none_ = true;
    return shown;
  }
  for (;;) {
    const size_t comma = text.find(',');
    AD_ASSIGN_OR_RETURN(Part part, ParsePart(text.substr(0, comma)));
    shown.parts_.push_back(std::move(part));
    if (comma == text.npos) return shown;
    text.remove_prefix(comma + 1);
  }
}

ShownRanks ShownRanks::Of(const std::vector<uint32_t>& ranks) {
  ShownRanks shown;
  shown.none_ = ranks.empty();
  for (const uint32_t rank : ranks) {
    shown.parts_.push_back({Part::kRanks, rank, rank, "", std::to_string(rank)});
  }
  return shown;
}

Result<ShownRanks::Part> ShownRanks::ParsePart(std::string_view text) {
  Part part;
  part.text = text;
  if (text.starts_with(kNode) && text.size() > kNode.size()) {
    part.kind = Part::kNode;
    part.node = text.substr(kNode.size());
    return part;
  }
  std::string_view numbers = text;
  if (text.starts_with(kLocal)) {
    part.kind = Part::kLocalRanks;
    numbers.remove_prefix(kLocal.size());
  }
  const size_t dash = numbers.find('-');
  const std::string_view last = dash == text.npos ? numbers : numbers.substr(dash + 1);
  const auto from = base::ParseNumber<uint32_t>(numbers.substr(0, dash));
  const auto to = base::ParseNumber<uint32_t>(last);
  if (!from || !to) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + part.text +
                     "' names no ranks; say all, none, or ranks as in 0,8-15, local0 or node:gpu3");
  }
  part.first = *from;
  part.last = *to;
  if (part.first > part.last) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + part.text + "' ends before it begins; did you mean " +
                     (part.kind == Part::kLocalRanks ? std::string(kLocal) : "") +
                     std::to_string(part.last) + "-" + std::to_string(part.first) + "?");
  }
  return part;
}

bool ShownRanks::Matches(const Part& part, const Process& process) {
  switch (part.kind) {
    case Part::kRanks:
      return process.rank >= part.first && process.rank <= part.last;
    case Part::kLocalRanks:
      return !process.auxiliary && process.local_rank >= part.first &&
             process.local_rank <= part.last;
    case Part::kNode:
      break;
  }
  return process.node == part.node || FirstLabel(process.node) == part.node;
}

bool ShownRanks::Shows(const Process& process) const {
  if (all()) return true;
  return std::ranges::any_of(parts_, [&](const Part& part) { return Matches(part, process); });
}

Status ShownRanks::CheckAgainst(const std::vector<Process>& processes) const {
  for (const Part& part : parts_) {
    const bool known = std::ranges::any_of(
        processes, [&](const Process& process) { return Matches(part, process); });
    if (known) continue;
    std::set<std::string> nodes;
    for (const Process& process : processes) nodes.insert(process.node);
    if (part.kind == Part::kNode) {
      const std::string nearest = base::Nearest(part.node, {nodes.begin(), nodes.end()});
      return Error(StatusCode::kInvalidArgument,
                   "no node is called '" + part.node + "'" +
                       (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
    return Error(StatusCode::kInvalidArgument, "'" + part.text + "' names no rank of the " +
                                                   base::Count(processes.size(), "rank") + " on " +
                                                   base::Count(nodes.size(), "node") +
                                                   ", which are counted from 0");
  }
  return OkStatus();
}

}  // namespace autodist::display
