#include "chief/moved/run_there.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/fd.h"
#include "base/shell_quote.h"
#include "launch/node_program.h"
#include "launch/own_folder.h"
#include "process/spawn.h"
#include "transport/ssh_program.h"

namespace autodist::chief {
namespace {

constexpr int kExitOfSshItself = 255;

// Behind kOwnFolder. $1 SHA-256 and $2 size of this autodist, then its arguments. Where it has not
// been brought there, another one that has, the newest, or else one that is installed is as good as
// it gets.
constexpr char kScript[] =
    "k=$1 b=$2; shift 2; "
    "if enter chief autodist \"$k\" \"$b\" || enter_other chief autodist; "
    "then exec ./autodist \"$@\"; fi; "
    "a=$(command -v autodist); if [ -x \"$a\" ]; then exec \"$a\" \"$@\"; fi; "
    "echo 'autodist: error: there is no autodist on this node; `autodist run --chief-on` brings "
    "it' "
    ">&2; exit 125";

std::string Encode(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  return absl::BytesToHexString(text);
}

bool OnTerminal() { return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0; }

}  // namespace

Result<std::vector<std::string>> DecodeWords(const std::string& encoded) {
  const bool hex = std::ranges::all_of(encoded, [](unsigned char c) { return std::isxdigit(c); });
  std::string text = hex && encoded.size() % 2 == 0 ? absl::HexStringToBytes(encoded) : "";
  if (!text.ends_with('\0'))
    return Error(StatusCode::kInvalidArgument, "not the words of a command");
  text.pop_back();
  return std::vector<std::string>(absl::StrSplit(text, '\0'));
}

void EndWithInput() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  fcntl(STDIN_FILENO, F_SETOWN, getpid());
  fcntl(STDIN_FILENO, F_SETSIG, SIGHUP);
  fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_ASYNC);
  if (poll(&input, 1, 0) > 0) raise(SIGHUP);  // it had ended before
}

Result<int> RunThere(const v1::SshReach& node, const std::vector<std::string>& words,
                     const std::optional<Forward>& forward) {
  AD_ASSIGN_OR_RETURN(const auto version, launch::NodeProgram::VersionOfAutodist());
  // Its end tells the command, where that has no terminal, that this one has gone.
  AD_ASSIGN_OR_RETURN(const base::FdPair gone, base::Pipe());
  transport::SshUse use;
  use.command = "exec " + base::ShellLine({"sh", "-c", std::string(launch::kOwnFolder) + kScript,
                                           "sh", version[0], version[1], "there", Encode(words)});
  use.terminal = OnTerminal() || forward;  // whose end ends a page, too
  if (forward) use.forward = forward->here + ":" + forward->socket_there;
  process::SpawnRequest request = process::OurProgram(transport::SshProgramWords(node, use));
  request.stdin_fd = use.terminal ? STDIN_FILENO : gone.first.get();
  request.stdout_fd = STDOUT_FILENO;
  request.stderr_fd = STDERR_FILENO;
  request.own_process_group = false;          // it reads from our terminal
  if (use.terminal) signal(SIGINT, SIG_IGN);  // it is the command's business
  AD_ASSIGN_OR_RETURN(const pid_t ssh, process::Spawn(request));
  const int code = process::ExitCode(process::Reap(ssh));
  if (code != kExitOfSshItself) return code;
  return WithRemedy(
      Error(StatusCode::kUnavailable, node.host() + ": ssh cannot log in, or the connection broke"),
      "what ssh says is above; the job does not need the connection: once it is back, type the "
      "same again");
}

}  // namespace autodist::chief
