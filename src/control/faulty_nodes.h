// Nodes that autodist remembers as faulty, in a file that people can read, edit and share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::control {

struct FaultyNode {
  std::string address;  // as in the spec
  std::string since;    // UTC, "2026-11-28T06:20:11Z"
  std::string why;      // one line

  bool operator==(const FaultyNode&) const = default;
};

// "ADDRESS SINCE WHY" in each line; lines that begin with '#' are comments. kInvalidArgument names
// the line that is wrong, and `file`.
Result<std::vector<FaultyNode>> ParseFaultyNodes(std::string_view text, const std::string& file);
std::string FaultyNodesText(const std::vector<FaultyNode>& nodes);

// The functions below block on the disk. If two write at the same time, the later one counts.

// Returns the path of the file, which may be missing.
Result<std::string> FaultyNodesFile();
// Oldest first; none if the file is missing.
Result<std::vector<FaultyNode>> ReadFaultyNodes();
// Replaces what is remembered of the node; the time is now.
Status RememberFaultyNode(const std::string& address, const std::string& why);
// kNotFound: the node is not remembered.
Status ForgetFaultyNode(const std::string& address);

}  // namespace autodist::control
