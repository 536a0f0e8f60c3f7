#include "control/faulty_nodes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
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
constexpr std::string_view kHeading =
    "# Nodes with faulty hardware, which autodist leaves out of jobs that have enough others.\n"
    "# ADDRESS SINCE WHY; lines can be added and removed.";

// Removes and returns the first word.
std::string_view TakeWord(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// "ADDRESS SINCE WHY"; nullopt for other lines.
std::optional<FaultyNode> ParseNode(std::string_view line) {
  FaultyNode node;
  node.address = TakeWord(line);
  node.since = TakeWord(line);
  node.why = line;
  const bool is_node = !node.address.starts_with('#') && !node.address.empty() &&
                       !node.since.empty() && !node.why.empty();
  return is_node ? std::optional(std::move(node)) : std::nullopt;
}

Result<std::string> ReadText(const std::string& file) {
  if (access(file.c_str(), F_OK) != 0) return std::string();
  return base::ReadOwnFile(file, kLargestList);
}

// Removes the node's lines, adds `line`, and keeps all others. Returns whether there were some.
Result<bool> Replace(const std::string& address, const std::string& line) {
  AD_ASSIGN_OR_RETURN(const std::string folder, StateFolder());
  AD_RETURN_IF_ERROR(MakeStateFolder(folder));
  // Locked, because another job may end at the same time.
  const base::UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return ErrnoError(errno, "locking " + folder);
  }
  AD_ASSIGN_OR_RETURN(std::string before, ReadText(folder + kName));
  if (before.ends_with('\n')) before.pop_back();
  std::string text;
  bool found = false;
  for (const std::string_view old :
       base::Split(before.empty() ? kHeading : std::string_view(before), '\n')) {
    const auto node = ParseNode(old);
    if (node && node->address == address) {
      found = true;
    } else {
      text += std::string(old) + "\n";
    }
  }
  if (line.empty() && !found) return false;
  AD_RETURN_IF_ERROR(base::WriteFile(folder + kName, text + line, base::IfExists::kReplace));
  return found;
}

}  // namespace

std::vector<FaultyNode> ParseFaultyNodes(std::string_view text, std::vector<int>& wrong_lines) {
  std::vector<FaultyNode> nodes;
  int number = 0;
  for (const std::string_view line : base::Split(text, '\n')) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (auto node = ParseNode(line)) {
      nodes.push_back(*std::move(node));
    } else {
      wrong_lines.push_back(number);
    }
  }
  return nodes;
}

Result<std::string> FaultyNodesFile() {
  AD_ASSIGN_OR_RETURN(const std::string folder, StateFolder());
  return folder + kName;
}

Result<std::vector<FaultyNode>> ReadFaultyNodes() {
  const auto found = FaultyNodesFile();
  // Without a folder, none can have been remembered.
  if (!found.ok()) return std::vector<FaultyNode>();
  AD_ASSIGN_OR_RETURN(const std::string text, ReadText(*found));
  std::vector<int> wrong_lines;
  std::vector<FaultyNode> nodes = ParseFaultyNodes(text, wrong_lines);
  for (const int line : wrong_lines) {
    base::Log(base::LogLevel::kWarning,
              *found + ":" + std::to_string(line) + " is skipped: it is not ADDRESS SINCE WHY");
  }
  return nodes;
}

Status RememberFaultyNode(const std::string& address, const std::string& why) {
  const std::string since = base::UtcTime("%Y-%m-%dT%H:%M:%SZ");
  return Replace(address, address + " " + since + " " + base::Printable(why) + "\n").status();
}

Status ForgetFaultyNode(const std::string& address) {
  AD_ASSIGN_OR_RETURN(const bool was_remembered, Replace(address, ""));
  if (was_remembered) return OkStatus();
  return WithRemedy(Error(StatusCode::kNotFound, address + " is not remembered as faulty"),
                    "`autodist nodes` lists the nodes that are");
}

}  // namespace autodist::control
