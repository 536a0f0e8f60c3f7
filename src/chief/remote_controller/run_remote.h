// Runs `autodist` commands on the machine of a job's chief, with this terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

// The mark after the output of a command that ended with 255: the ssh program also exits with 255
// if it could not log in. The nonce is new for each command. The mark begins with a byte that
// rarely ends output, because such a byte is held back until the next bytes.
std::string MarkOf255(const std::string& nonce);

// Passes on the output of a command on another node to this process's stdout or stderr. Pure logic;
// not thread-safe.
class RemoteOutput {
 public:
  // `to_terminal`: the text goes to a terminal here, although the command did not write for one: it
  // is passed on by lines, without terminal control sequences other than colours.
  RemoteOutput(const std::string& nonce, bool to_terminal)
      : mark_(MarkOf255(nonce)), to_terminal_(to_terminal) {}

  // Returns the text to write now.
  std::string Take(std::string_view bytes);
  // Returns the rest: no more bytes follow.
  std::string End();
  // Returns whether the mark has arrived; it is not passed on.
  bool ended_with_255() const { return marked_; }

 private:
  std::string Shown(bool end);

  const std::string mark_;
  const bool to_terminal_;
  std::string held_;  // may be the beginning of the mark
  std::string text_;  // not returned yet
  bool marked_ = false;
};

// A port of this machine that leads to a unix socket there while the command runs.
struct Forward {
  std::string here;           // ADDRESS:PORT
  std::string remote_socket;  // absolute
};

// Another machine, and a program of this one that runs commands there: ssh or srun.
struct RemoteHost {
  std::string name;
  // Returns the argv of that program; `terminal`: the command gets our terminal.
  std::function<std::vector<std::string>(const std::vector<std::string>& command, bool terminal)>
      argv_for;
  bool ends_with_terminal = false;  // the command needs a terminal, whose end also ends it
  bool is_ssh = false;              // exits with 255 if it cannot log in
  // The chief of the job that the command is about, whose program runs it; 0: unknown.
  int32_t chief_pid = 0;
};
RemoteHost OverSsh(const v1::SshReach& node, const std::optional<Forward>& forward = {});

// Returns the command's exit code. Blocks until it has ended or the connection broke: kUnavailable.
Result<int> RunRemote(const RemoteHost& host, const std::vector<std::string>& argv);

// Called by such a command at its end: marks exit code 255 as the command's own, because the ssh
// program uses it, too.
void MarkEnd(int code);

// Called by such a command without a terminal: raises SIGHUP when the other end closes.
void EndWithInput();

// Decodes the argv of a command from RunRemote. It is encoded in letters and digits, so that login
// shells do not change it.
Result<std::vector<std::string>> DecodeArgv(const std::string& encoded);

}  // namespace autodist::chief
