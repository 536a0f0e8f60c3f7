#include "display/prefixes.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "base/ip_address.h"

namespace autodist::display {
namespace {

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
