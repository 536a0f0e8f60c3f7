// Runs commands of `autodist` on the node on which the chief of a job is, with this terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

// A port of this machine that leads to a unix socket there, as long as the command runs.
struct Forward {
  std::string here;           // ADDRESS:PORT
  std::string remote_socket;  // absolute
};

// Logs in by the `ssh` program. Returns the command's exit code; blocks until it has ended, or the
// connection broke: kUnavailable.
Result<int> RunRemote(const v1::SshReach& node, const std::vector<std::string>& argv,
                      const std::optional<Forward>& forward);

// In such a command, at its end: lets RunRemote know that this is its exit code, where the ssh
// program has that code of its own, too.
void MarkEnd(int code);

// In such a command, where it has no terminal: SIGHUP once nobody listens at the other end any
// more.
void EndWithInput();

// The words of a command that came from RunRemote, which pass a login shell as nothing but letters
// and digits.
Result<std::vector<std::string>> DecodeArgv(const std::string& encoded);

}  // namespace autodist::chief
