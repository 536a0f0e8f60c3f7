#include "display/shown_ranks.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <absl/strings/str_format.h>
#include "base/did_you_mean.h"
#include "base/ip_address.h"
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

// SGR parameters (ECMA-48) of colors that are readable on black and on white.
constexpr std::array kColours = {"36", "33", "35", "32", "34", "96", "95", "92"};

// The common end of all node names, beginning at a dot.
std::string_view CommonDomain(const std::vector<Process>& processes) {
  std::string_view domain;
  for (const Process& process : processes) {
    const std::string_view name = process.node;
    if (base::IpAddress::Parse(process.node)) return "";
    if (&process == &processes.front()) domain = name;
    while (!domain.empty() && (!name.ends_with(domain) || name == domain || domain[0] != '.')) {
      const size_t dot = domain.find('.', 1);
      domain = dot == domain.npos ? "" : domain.substr(dot);
    }
  }
  return domain;
}

// "2026-11-23T14:03:21.250+01:00": ISO 8601 in local time.
std::string TimeStamp(base::WallTime time) {
  using std::chrono::milliseconds;
  const auto since_1970 = std::chrono::floor<milliseconds>(time.time_since_epoch());
  const auto second = std::chrono::floor<std::chrono::seconds>(since_1970);
  const std::string zone = base::LocalTime("%z", second.count());
  return absl::StrFormat("%s.%03d%s:%s", base::LocalTime("%FT%T", second.count()),
                         (since_1970 - second).count(), zone.substr(0, 3), zone.substr(3));
}

std::string TimeOfDay(base::WallTime time) {
  return base::LocalTime("%H:%M:%S", std::chrono::system_clock::to_time_t(time));
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
    return Error(StatusCode::kInvalidArgument, "'" + part.text + "' names no rank; the job has " +
                                                   base::Count(processes.size(), "rank") + " on " +
                                                   base::Count(nodes.size(), "node") +
                                                   ", counted from 0");
  }
  return OkStatus();
}

Prefixes::Prefixes(PrefixStyle style, const std::vector<Process>& processes,
                   const std::array<Style, 2>& looks, bool time_stamps)
    : style_(style), time_stamps_(time_stamps) {
  const size_t domain = CommonDomain(processes).size();
  const auto text_of = [&](const Process& process) {
    std::string number = std::to_string(process.rank);
    if (style == PrefixStyle::kRank) return number;
    return process.node.substr(0, process.node.size() - domain) + ":" + number;
  };
  size_t longest = 0;
  for (const Process& process : processes) longest = std::max(longest, text_of(process).size());
  std::map<std::string_view, size_t> nodes;
  for (const Process& process : processes) {
    const std::string text = text_of(process);
    const size_t node = nodes.emplace(process.node, nodes.size()).first->second;
    for (const Stream stream : {kStdout, kStderr}) {
      const Style& look = looks[stream];
      Parts& parts = parts_[process.rank][stream];
      parts.begin = "[";
      parts.end = text + "]";
      if (look.coloured) {
        parts.begin = "\x1b[" + std::string(kColours[node % kColours.size()]) + "m[";
        parts.end += "\x1b[0m";
      }
      parts.end.append(1 + (look.terminal ? longest - text.size() : 0), ' ');
    }
  }
}

const std::string& Prefixes::TimeText(base::WallTime time) {
  if (time_ != time) time_text_ = (time_stamps_ ? TimeStamp(time) : TimeOfDay(time)) + " ";
  time_ = time;
  return time_text_;
}

std::string_view Prefixes::Of(uint32_t rank, Stream stream, std::optional<base::WallTime> time) {
  of_.clear();
  if (time_stamps_ && time) of_ = TimeText(*time);
  if (style_ == PrefixStyle::kNone) return of_;
  const auto found = parts_.find(rank);
  if (found == parts_.end()) return of_ += "[?:" + std::to_string(rank) + "] ";
  const Parts& parts = found->second[stream];
  of_ += parts.begin;
  if (style_ == PrefixStyle::kTime && !time_stamps_ && time) of_ += TimeText(*time);
  return of_ += parts.end;
}

}  // namespace autodist::display
