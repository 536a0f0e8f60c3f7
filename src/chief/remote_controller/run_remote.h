// Runs `autodist` commands on the node of a job's chief, with this terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

// A port of this machine that leads to a unix socket there while the command runs.
struct Forward {
  std::string here;           // ADDRESS:PORT
  std::string remote_socket;  // absolute
};

// Logs in with the `ssh` program. Returns the command's exit code. Blocks until it has ended or the
// connection broke: kUnavailable.
Result<int> RunRemote(const v1::SshReach& node, const std::vector<std::string>& argv,
                      const std::optional<Forward>& forward);

// Called by such a command at its end: marks exit code 255 as the command's own, because the ssh
// program uses it, too.
void MarkEnd(int code);

// Called by such a command without a terminal: raises SIGHUP when the other end closes.
void EndWithInput();

// Decodes the argv of a command from RunRemote. It is encoded in letters and digits, so that login
// shells do not change it.
Result<std::vector<std::string>> DecodeArgv(const std::string& encoded);

}  // namespace autodist::chief
