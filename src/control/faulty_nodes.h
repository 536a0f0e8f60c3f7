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

// "ADDRESS SINCE WHY" in each line; lines that begin with '#' are comments. Adds the numbers of
// other lines, from 1, to `wrong_lines`.
std::vector<FaultyNode> ParseFaultyNodes(std::string_view text, std::vector<int>& wrong_lines);

// The functions below block on the disk. Those that write keep all lines of others, and wait for
// each other.

// Returns the path of the file, which may be missing.
Result<std::string> FaultyNodesFile();
// Oldest first; none if the file is missing. Warns of wrong lines and skips them.
Result<std::vector<FaultyNode>> ReadFaultyNodes();
// Replaces what is remembered of the node; the time is now.
Status RememberFaultyNode(const std::string& address, const std::string& why);
// kNotFound: the node is not remembered.
Status ForgetFaultyNode(const std::string& address);

}  // namespace autodist::control
