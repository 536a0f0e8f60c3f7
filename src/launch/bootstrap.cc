#include "launch/bootstrap.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "launch/own_folder.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/limits.h"

namespace autodist::launch {
namespace {

using std::chrono::seconds;

constexpr seconds kReadyLimit{60};  // a login shell's start-up files may take long
constexpr seconds kLeastUploadLimit{300};
constexpr uint64_t kSlowestUpload = 20'000;  // bytes per second, on the node, too
constexpr size_t kMostNoise = 1 << 20;       // bytes that a login shell may print first
constexpr size_t kLongestMachine = 64;       // bytes of its name

// run: starts the program $f of the folder that the script is in, with the umask of the login.
// skip: leaves what comes before it on stdin.
constexpr char kToStart[] = "run() { umask \"$o\"; exec \"./$f\" \"$@\"; }; skip() { :; }; ";

// As a task of a step of Slurm, which says what the node is called and where its srun is, the
// chief. On stdin the key comes first. $1 seconds, $2 the chief's port, then its addresses.
constexpr char kToCall[] =
    "l=; run() { umask \"$o\"; c=${SLURM_LAUNCH_NODE_IPADDR-}; t=$1 i=$2; shift 2; "
    "case $c in '') ;; *:*) c=\"[$c]:$i\" ;; *) c=\"$c:$i\" ;; esac; "
    "set -- call \"$SLURMD_NODENAME\" \"$t\" ${c:+\"$c\"} \"$@\"; "
    "[ -n \"$l\" ] || exec \"./$f\" \"$@\"; exec \"./$f\" \"$@\" << E\n$l\nE\n}; "
    "skip() { IFS= read -r l; }; ";

// $1 nonce, $2 seconds that sending the program may take, $3 its folder, $4 its name, five of each
// variant: its machine, its SHA-256, and in bytes the size of the unpacker, of all that is sent and
// of the program; then "-", and the arguments of run. What is sent begins with the unpacker, and
// so can be run as it came. The program is kept in the home folder, or where there is none that can
// be written and run from, in a folder of /tmp that is the user's own. Only the complete program
// ever has its final name; before, it has one of the session's and the task's, as many nodes may
// have one home folder. An sshd does not notice for hours that a link was cut.
constexpr char kInstallScript[] =
    "n=$1 w=$2 k=$3 f=$4 m=$(uname -m) o=$(umask); printf '\\nAUTODIST-SHELL %s\\n' \"$n\"; "
    "umask 077; shift 4; "
    "s=; while [ \"$1\" != - ]; do [ \"$1\" != \"$m\" ] || s=$2 u=$3 z=$4 b=$5; shift 5; done; "
    "shift; if [ -n \"$s\" ] && enter \"$k\" \"$f\" \"$s\" \"$b\"; then run \"$@\"; fi; "
    "h=\"${HOME:-/dev/null}/.cache/autodist/$k/$s\" t=\"./$f.$n${SLURM_PROCID-}\" p=\"$t.packed\"; "
    "can() { true > \"$t\" && chmod 700 \"$t\" && [ -x \"$t\" ] || "
    "{ rm -f \"$t\"; echo \"$PWD: no program can be kept in it\" >&2; false; }; }; "
    "can_at_home() { mkdir -p \"$h\" && { in_home \"$k\" \"$s\" || { "
    "printf '%s: not used: another user owns or can write to it or a folder above it\\n"
    "to do: chmod go-w ~/.cache, or remove ~/.cache/autodist\\n' \"$h\" >&2; false; }; } && can; "
    "}; "
    "can_in_tmp() { mkdir \"/tmp/autodist-agent-$(id -u)\"; "
    "in_tmp . && mkdir -p \"./$s\" && own \"./$s\" && can; }; "
    "can_at_home 2> /dev/null || can_in_tmp 2> /dev/null || can_at_home || exit 1; "
    "trap 'rm -f \"$t\" \"$p\"' EXIT && trap 'exit 1' HUP PIPE TERM && "
    "printf '\\nAUTODIST-NEED %s %s\\n' \"$n\" \"$m\" && skip && "
    "timeout \"$w\" head -c \"$z\" > \"$p\" && [ \"$(wc -c < \"$p\")\" -eq \"$z\" ] && "
    "chmod 700 \"$p\" && \"$p\" \"$u\" < \"$p\" > \"$t\" && "
    "[ \"$(wc -c < \"$t\")\" -eq \"$b\" ] && "
    "case \"$(! command -v sha256sum > /dev/null || sha256sum < \"$t\")\" in '' | \"$s \"*) ;; "
    "*) echo \"$f is not what was sent\" >&2; false ;; esac && "
    "mv \"$t\" \"./$f\" && rm -f \"$p\" && trap - EXIT && "
    "run \"$@\"";

void AppendSession(std::vector<std::string>& command, const AgentSession& session) {
  command.insert(command.end(),
                 {session.job_id, std::to_string(session.node_rank), session.nonce,
                  std::to_string(session.lease.count()), std::to_string(session.grace.count()),
                  session.resume ? "resume" : "start"});
}

Status LoginShellBroken(const transport::Stream& stream, std::string printed) {
  AD_RETURN_IF_ERROR(stream.FailureIn(printed));
  printed += stream.StderrTail();
  constexpr size_t kShown = 500;
  if (printed.size() > kShown) printed.erase(0, printed.size() - kShown);
  while (printed.ends_with('\n') || printed.ends_with('\r')) printed.pop_back();
  return WithRemedy(
      Error(StatusCode::kUnavailable,
            "login shell broken: the login succeeds, but the user's shell does not run what it is "
            "given" +
                (printed.empty() ? ", and prints nothing" : ", and prints:\n" + printed)),
      "which shell has the user there (getent passwd USER), and does `ssh NODE true` end without "
      "error?");
}

Status DidNotStart(const transport::Stream& stream, const std::string& program, const Status& why) {
  if (!stream.Failure().ok()) return stream.Failure();
  std::string said = stream.StderrTail();
  std::string remedy = program +
                       " is kept in ~/.cache/autodist on the node and its socket in /tmp: are both "
                       "writable there, and does a login shell (ssh NODE true) end without error?";
  while (said.ends_with('\n')) said.pop_back();
  const size_t last_line = said.rfind('\n') + 1;
  const std::string_view mark = rpc::kRemedyMark;
  if (std::string_view(said).substr(last_line).starts_with(mark)) {
    remedy = said.substr(last_line + mark.size());
    said.resize(last_line - std::min<size_t>(last_line, 1));
  }
  return WithRemedy(
      Error(why.code(), program + " did not start: " +
                            (said.empty() ? Message(why) : Message(why) + ":\n" + said)),
      remedy);
}

// What has come, up to and with the first line feed: what follows that may not be ours to read.
// "" at the end of the stream.
Result<std::string> ReadPartOfLine(int socket, base::Deadline deadline) {
  std::string text(4096, '\0');
  AD_RETURN_IF_ERROR(base::WaitReadable(socket, deadline));
  const ssize_t seen = recv(socket, text.data(), text.size(), MSG_PEEK);
  if (seen < 0) return ErrnoError(errno, "read");
  text.resize(static_cast<size_t>(seen));
  text.resize(std::min(text.find('\n'), text.size() - 1) + 1);
  if (recv(socket, text.data(), text.size(), 0) < 0) return ErrnoError(errno, "read");
  return text;
}

uint64_t BytesSent(const bundle::Agent& variant) {
  return variant.unpacker.size() + variant.program.packed.size();
}

seconds UploadLimit(const bundle::Agent& variant) {
  return std::max(kLeastUploadLimit, seconds(BytesSent(variant) / kSlowestUpload));
}

// Of such a script.
std::vector<std::string> InstallWords(const char* prefix, const NodeProgram& program,
                                      const std::string& nonce) {
  seconds limit{};
  std::vector<std::string> variants;
  for (const bundle::Agent& variant : program.variants()) {
    limit = std::max(limit, UploadLimit(variant));
    variants.insert(variants.end(),
                    {std::string(variant.machine), std::string(variant.program.sha256),
                     std::to_string(variant.unpacker.size()), std::to_string(BytesSent(variant)),
                     std::to_string(variant.program.size)});
  }
  std::vector<std::string> argv = {"sh",
                                   "-c",
                                   std::string(prefix) + kOwnFolder + kInstallScript,
                                   "sh",
                                   nonce,
                                   std::to_string(limit.count()),
                                   program.place(),
                                   program.file()};
  argv.insert(argv.end(), variants.begin(), variants.end());
  argv.emplace_back("-");
  return argv;
}

// What the far end says after the line that the agent is gone.
Status AgentIsGone(int socket, base::Deadline deadline) {
  std::string verdict;
  while (verdict.size() < kMostNoise) {
    const auto part = ReadPartOfLine(socket, deadline);
    if (!part.ok() || part->empty()) break;
    verdict += *part;
  }
  while (verdict.ends_with('\n')) verdict.pop_back();
  return Error(StatusCode::kAborted,
               verdict.empty() ? "its agent has gone, and nothing there tells why: the machine was "
                                 "started anew, or its /tmp emptied"
                               : base::ToUtf8(verdict, rpc::kLongestText));
}

}  // namespace

Status SendProgram(int socket, const bundle::Agent& variant,
                   const std::function<void(uint64_t bytes, uint64_t of)>& sent) {
  constexpr size_t kPiece = 64 * 1024;
  const base::Deadline deadline = base::Deadline::After(UploadLimit(variant));
  const uint64_t all = BytesSent(variant);
  uint64_t bytes = 0;
  for (std::string_view part : {variant.unpacker, variant.program.packed}) {
    while (!part.empty()) {
      sent(bytes, all);
      const std::string_view piece = part.substr(0, kPiece);
      AD_RETURN_IF_ERROR(base::WriteAll(socket, piece, deadline));
      bytes += piece.size();
      part.remove_prefix(piece.size());
    }
  }
  sent(all, all);
  return OkStatus();
}

std::optional<std::string> MachineInNeed(std::string_view seen, const std::string& nonce) {
  const std::string need = rpc::BeginOfNeedLine(nonce);
  if (seen.size() < need.size() || !seen.ends_with('\n')) return std::nullopt;
  seen.remove_suffix(1);
  seen = seen.substr(std::min(seen.rfind('\n'), seen.size()));
  if (!seen.starts_with(need)) return std::nullopt;
  return base::Printable(seen.substr(need.size(), kLongestMachine));
}

AgentCommand AgentCommandAt(const std::string& path, const AgentSession& session) {
  AgentCommand command{{path, "attach"}};
  AppendSession(command.argv, session);
  return command;
}

AgentCommand InstallingCommand(const NodeProgram& program, const std::string& nonce,
                               const std::vector<std::string>& arguments) {
  AgentCommand command{InstallWords(kToStart, program, nonce), true};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

AgentCommand InstallingAgentCommand(const NodeProgram& program, const AgentSession& session) {
  std::vector<std::string> arguments = {"attach"};
  AppendSession(arguments, session);
  return InstallingCommand(program, session.nonce, arguments);
}

std::vector<std::string> InstallingCallWords(const NodeProgram& program, const std::string& nonce,
                                             seconds patience, uint16_t port,
                                             const std::vector<std::string>& hosts,
                                             const std::optional<std::string>& munge) {
  std::vector<std::string> argv = InstallWords(kToCall, program, nonce);
  argv.insert(argv.end(), {std::to_string(patience.count()), std::to_string(port)});
  for (const std::string& host : hosts) argv.push_back(host + ":" + std::to_string(port));
  if (munge) argv.push_back(munge->empty() ? "--munge" : "--munge=" + *munge);
  return argv;
}

Result<base::UniqueFd> AwaitProgram(transport::Stream& stream, const NodeProgram& program,
                                    const std::string& nonce, const AgentCommand& command,
                                    const std::stop_token& stop,
                                    const std::function<void(uint64_t bytes, uint64_t of)>& sent) {
  base::UniqueFd socket = stream.TakeSocket();
  const std::stop_callback cancel(stop, [fd = socket.get()] { shutdown(fd, SHUT_RDWR); });
  const auto failed = [&](const Status& why) { return DidNotStart(stream, program.what(), why); };
  const std::string ready = rpc::ReadyLine(nonce);
  const std::string gone = rpc::GoneLine(nonce);
  const std::string shell = rpc::ShellLine(nonce);
  base::Deadline deadline = base::Deadline::After(kReadyLimit);
  std::string seen;
  bool sent_it = !command.installs;
  while (!seen.ends_with(ready)) {
    const auto part = ReadPartOfLine(socket.get(), deadline);
    if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
    if (!part.ok()) return failed(part.status());
    if (part->empty()) {
      stream.WaitClosed(base::Deadline::After(seconds(1)));  // so that stderr is complete
      if (command.installs && seen.find(shell) == std::string::npos) {
        return LoginShellBroken(stream, seen);
      }
      return failed(Error(StatusCode::kNotFound, "the command ended without starting it"));
    }
    seen += *part;
    if (seen.ends_with(gone)) return AgentIsGone(socket.get(), deadline);
    const auto machine = sent_it ? std::nullopt : MachineInNeed(seen, nonce);
    if (machine) {
      sent_it = true;
      AD_ASSIGN_OR_RETURN(const bundle::Agent variant, program.For(*machine));
      using Clock = base::Deadline::Clock;
      const Clock::time_point began = Clock::now();
      const Status upload = SendProgram(socket.get(), variant, sent);
      if (!upload.ok()) {
        return failed(Annotate(upload, std::string("sending ") + program.what()));
      }
      // The last part is still on its way, and takes less time than what was before it.
      const Clock::time_point sent_at = Clock::now();
      deadline = base::Deadline::At(sent_at + kReadyLimit + (sent_at - began));
    }
    if (seen.size() > kMostNoise) {
      return failed(Error(StatusCode::kUnavailable, "the login shell prints without end"));
    }
  }
  return socket;
}

Result<base::UniqueFd> AwaitAgent(transport::Stream& stream, const NodeProgram& program,
                                  const AgentSession& session, const AgentCommand& command,
                                  const std::stop_token& stop,
                                  const std::function<void(uint64_t bytes, uint64_t of)>& sent) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket,
                      AwaitProgram(stream, program, session.nonce, command, stop, sent));
  const Status greeted =
      base::WriteAll(socket.get(), session.greeting, base::Deadline::After(kReadyLimit));
  if (!greeted.ok()) return DidNotStart(stream, program.what(), greeted);
  return socket;
}

}  // namespace autodist::launch
