#include "chief/output/undecorated.h"

#include <algorithm>
#include <array>

namespace autodist::chief {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kParameters = "0123456789;:";
constexpr std::array<std::string_view, 9> kEdges = {"│", "─", "╭", "╮", "╰", "╯", "┃", "━", " "};

bool RemoveEdge(std::string_view& line, bool at_begin) {
  for (const std::string_view edge : kEdges) {
    if (at_begin ? !line.starts_with(edge) : !line.ends_with(edge)) continue;
    if (at_begin) {
      line.remove_prefix(edge.size());
    } else {
      line.remove_suffix(edge.size());
    }
    return true;
  }
  return false;
}

bool IsOfBox(std::string_view line) {
  return std::any_of(kEdges.begin(), kEdges.end() - 1,
                     [&](std::string_view edge) { return line.starts_with(edge); });
}

}  // namespace

std::string_view WithoutColours(std::string_view line, std::string& buffer) {
  size_t at = line.find(kEscape);
  if (at == std::string_view::npos) return line;
  buffer.clear();
  while (at != std::string_view::npos) {
    buffer += line.substr(0, at);
    line.remove_prefix(at);
    const size_t end = line.starts_with("\x1b[") ? line.find_first_not_of(kParameters, 2) : 0;
    const bool colour = end != 0 && end != std::string_view::npos && line[end] == 'm';
    if (!colour) buffer += kEscape;
    line.remove_prefix(colour ? end + 1 : 1);
    at = line.find(kEscape);
  }
  buffer += line;
  return buffer;
}

std::string_view WithoutBox(std::string_view line) {
  if (!IsOfBox(line)) return line;
  while (RemoveEdge(line, true)) continue;
  while (RemoveEdge(line, false)) continue;
  return line;
}

}  // namespace autodist::chief
