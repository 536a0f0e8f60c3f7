#include "chief/moved/run_there.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/shell_quote.h"
#include "launch/agent_program.h"
#include "process/spawn.h"
#include "transport/ssh_program.h"

namespace autodist::chief {
namespace {

constexpr int kExitOfSshItself = 255;

// $1 the SHA-256 of this autodist, then its arguments. Where it has not been brought there, another
// one that has, the newest, or else one that is installed is as good as it gets.
constexpr char kScript[] =
    "k=$1; shift; e=\"/tmp/autodist-agent-$(id -u)\"; "
    "for a in \"$HOME/.cache/autodist/chief/$k/autodist\" \"$e/$k/autodist\" "
    "$(ls -t \"$HOME\"/.cache/autodist/chief/*/autodist 2> /dev/null) "
    "\"$(command -v autodist)\"; do "
    "if [ -x \"$a\" ] && [ -O \"$a\" -o \"${a#/tmp/}\" = \"$a\" ]; then exec \"$a\" \"$@\"; fi; "
    "done; "
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

Result<int> RunThere(const v1::SshReach& node, const std::vector<std::string>& words,
                     const std::optional<Forward>& forward) {
  AD_ASSIGN_OR_RETURN(const auto program, launch::AgentProgram::OfAutodist());
  transport::SshUse use;
  use.command = "exec " + base::ShellLine({"sh", "-c", kScript, "sh",
                                           std::string(program.variants().front().program.sha256),
                                           "there", Encode(words)});
  // Without one a command that is silent would not notice that this one has gone.
  use.terminal = OnTerminal() || forward;
  if (forward) use.forward = forward->here + ":" + forward->socket_there;
  process::SpawnRequest request = process::OurProgram(transport::SshProgramWords(node, use));
  request.stdin_fd = use.terminal ? STDIN_FILENO : -1;
  request.stdout_fd = STDOUT_FILENO;
  request.stderr_fd = STDERR_FILENO;
  request.own_process_group = false;  // it reads from our terminal
  signal(SIGINT, SIG_IGN);            // is its business
  AD_ASSIGN_OR_RETURN(const pid_t ssh, process::Spawn(request));
  const int code = process::ExitCode(process::Reap(ssh));
  if (code != kExitOfSshItself) return code;
  return WithRemedy(
      Error(StatusCode::kUnavailable, node.host() + ": ssh cannot log in, or the connection broke"),
      "what ssh says is above; the job does not need the connection: once it is back, type the "
      "same again");
}

}  // namespace autodist::chief
