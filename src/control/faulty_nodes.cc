#include "control/faulty_nodes.h"

#include <unistd.h>

#include "base/private_folder.h"
#include "base/split.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "base/write_file.h"
#include "control/state_folder.h"

namespace autodist::control {
namespace {

constexpr char kName[] = "/faulty-nodes";
constexpr size_t kLargestList = 1 << 20;  // bytes
constexpr char kHeading[] =
    "# Nodes with faulty hardware, which autodist leaves out of jobs that have enough others.\n"
    "# ADDRESS SINCE WHY; lines can be added and removed.\n";

// Removes and returns the first word.
std::string_view TakeWord(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

Status Write(const std::vector<FaultyNode>& nodes) {
  AD_ASSIGN_OR_RETURN(const std::string folder, StateFolder());
  AD_RETURN_IF_ERROR(MakeStateFolder(folder));
  return base::WriteFile(folder + kName, FaultyNodesText(nodes), base::IfExists::kReplace);
}

}  // namespace

Result<std::vector<FaultyNode>> ParseFaultyNodes(std::string_view text, const std::string& file) {
  std::vector<FaultyNode> nodes;
  int number = 0;
  for (std::string_view line : base::Lines(text)) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    FaultyNode node;
    node.address = TakeWord(line);
    node.since = TakeWord(line);
    node.why = line;
    if (node.address.empty() || node.since.empty() || node.why.empty()) {
      return WithRemedy(Error(StatusCode::kInvalidArgument,
                              file + ":" + std::to_string(number) + " is no faulty node"),
                        "write ADDRESS SINCE WHY, or remove the line");
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string FaultyNodesText(const std::vector<FaultyNode>& nodes) {
  std::string text = kHeading;
  for (const FaultyNode& node : nodes) {
    text += node.address + " " + node.since + " " + base::Printable(node.why) + "\n";
  }
  return text;
}

Result<std::string> FaultyNodesFile() {
  AD_ASSIGN_OR_RETURN(const std::string folder, StateFolder());
  return folder + kName;
}

Result<std::vector<FaultyNode>> ReadFaultyNodes() {
  const auto found = FaultyNodesFile();
  // Without a folder, none can have been remembered.
  if (!found.ok() || access(found->c_str(), F_OK) != 0) return std::vector<FaultyNode>();
  const std::string& file = *found;
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadOwnFile(file, kLargestList));
  return ParseFaultyNodes(text, file);
}

Status RememberFaultyNode(const std::string& address, const std::string& why) {
  AD_ASSIGN_OR_RETURN(std::vector<FaultyNode> nodes, ReadFaultyNodes());
  std::erase_if(nodes, [&](const FaultyNode& node) { return node.address == address; });
  nodes.push_back({address, base::UtcTime("%Y-%m-%dT%H:%M:%SZ"), why});
  return Write(nodes);
}

Status ForgetFaultyNode(const std::string& address) {
  AD_ASSIGN_OR_RETURN(std::vector<FaultyNode> nodes, ReadFaultyNodes());
  const size_t erased =
      std::erase_if(nodes, [&](const FaultyNode& node) { return node.address == address; });
  if (erased > 0) return Write(nodes);
  return WithRemedy(Error(StatusCode::kNotFound, address + " is not remembered as faulty"),
                    "`autodist nodes` lists the nodes that are");
}

}  // namespace autodist::control
