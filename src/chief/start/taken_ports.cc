#include "chief/start/taken_ports.h"

#include <algorithm>
#include <iterator>

namespace autodist::chief {

std::vector<TakenPort> PortsTaken(const v1::LaunchPlan& plan,
                                  const std::vector<launch::LaunchedNode>& nodes) {
  std::vector<TakenPort> taken;
  for (const launch::LaunchedNode& node : nodes) {
    for (const uint32_t port : node.prepared.ports_taken()) {
      taken.push_back({port, plan.nodes(static_cast<int>(node.node_rank)).address()});
    }
  }
  return taken;
}

Status PortsTakenError(const std::vector<TakenPort>& taken, bool movable) {
  std::string text;
  for (const TakenPort& port : taken) {
    text += (text.empty() ? "" : ", ") + std::to_string(port.port) + " on " + port.address;
  }
  return WithRemedy(
      Error(StatusCode::kUnavailable, "somebody else has port " + text),
      movable ? "others had been tried before; look at what takes so many, with `ss -tlnp`"
              : "choose another one with --master-port, or leave the choice to autodist");
}

// Programs print the text of EADDRINUSE, whose case differs, or its name; and most the port.
bool SaysPortIsTaken(const LastWords& words, const v1::NodePlan& node, uint32_t fixed) {
  std::vector<std::string> lines = words.Lines(display::kStderr);
  std::ranges::move(words.Lines(display::kStdout), std::back_inserter(lines));
  if (words.fatal()) std::ranges::copy(words.fatal()->lines, std::back_inserter(lines));
  const auto told = [&](const std::string& what) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(what) != std::string::npos; });
  };
  return (told("ddress already in use") || told("EADDRINUSE")) &&
         std::ranges::any_of(node.ports(), [&](uint32_t port) {
           return port != fixed && told(std::to_string(port));
         });
}

}  // namespace autodist::chief
