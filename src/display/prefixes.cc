#include "display/prefixes.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "base/ip_address.h"

namespace autodist::display {
namespace {

// SGR parameters (ECMA-48): those that can be read on black and on white.
constexpr std::array kColours = {"36", "33", "35", "32", "34", "96", "95", "92"};

// The end that the names of all nodes have in common, from a dot on.
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

std::string TimeOfDay() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

}  // namespace

Prefixes::Prefixes(PrefixStyle style, const std::vector<Process>& processes,
                   const std::array<Look, 2>& looks)
    : style_(style) {
  const size_t domain = CommonDomain(processes).size();
  const auto text_of = [&](const Process& process) {
    const std::string number = std::to_string(process.rank);
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
      const Look& look = looks[stream];
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

std::string_view Prefixes::Of(uint32_t rank, Stream stream) {
  if (style_ == PrefixStyle::kNone) return "";
  const auto found = parts_.find(rank);
  const Parts unknown{"[", "?:" + std::to_string(rank) + "] "};
  const Parts& parts = found == parts_.end() ? unknown : found->second[stream];
  of_ = parts.begin;
  if (style_ == PrefixStyle::kTime) of_ += TimeOfDay() + " ";
  return of_ += parts.end;
}

}  // namespace autodist::display
