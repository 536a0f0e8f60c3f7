#include "launch/bootstrap.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "launch/own_folder.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/limits.h"

namespace autodist::launch {
namespace {

using std::chrono::seconds;

constexpr seconds kLeastUploadLimit{300};
constexpr uint64_t kSlowestUpload = 20'000;  // bytes per second, on the node, too
constexpr size_t kLongestMachine = 64;       // bytes of its name

// run: starts the program $f of the folder that the script is in, with the umask of the login.
// skip: leaves what comes before it on stdin.
constexpr char kToStart[] = "run() { umask \"$o\"; exec \"./$f\" \"$@\"; }; skip() { :; }; ";

// As a task of a step of Slurm, which says what the node is called and where its srun is, the
// chief. On stdin the key comes first. All tasks have the same stdin: one that has the program
// takes what is sent to the others, or none would get any more. $1 seconds, $2 the chief's port,
// then its addresses.
constexpr char kToCall[] =
    "l=; run() { umask \"$o\"; c=${SLURM_LAUNCH_NODE_IPADDR-}; t=$1 i=$2; shift 2; "
    "case $c in '') ;; *:*) c=\"[$c]:$i\" ;; *) c=\"$c:$i\" ;; esac; "
    "set -- call \"$SLURMD_NODENAME\" \"$t\" ${c:+\"$c\"} \"$@\"; "
    "[ -n \"$l\" ] || { skip; exec 3<&0; timeout \"$w\" cat <&3 > /dev/null 2>&1 3<&- & "
    "exec 3<&-; }; exec \"./$f\" \"$@\" << E\n$l\nE\n}; "
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
    "h=\"${HOME:-/dev/null}/.cache/autodist/$k/$s\" t=\"./$f.$n${SLURM_PROCID-}\" p=\"$t.packed\" "
    "r= v=$(printf '\\nx') "
    "y='make one of these folders writable, with room, and not mounted noexec' "
    "d=\"/tmp/autodist-agent-$(id -u)\"; "
    "no() { rm -f \"$t\"; r=\"$r${r:+${v%x}}$1: $2\"; cd /; return 1; }; "
    "can() { e=$( (true > \"$t\") 2>&1) || { no \"$1\" \"cannot be written to (${e##*: })\"; "
    "return; }; "
    "e=$({ fallocate -l \"$q\" \"$t\" || head -c \"$q\" /dev/zero > \"$t\"; } 2>&1) || "
    "{ no \"$1\" \"no room for the $((q / 1000000 + 1)) MB of $f (${e##*: })\"; return; }; "
    "true > \"$t\" && chmod 700 \"$t\" && [ -x \"$t\" ] || "
    "no \"$1\" 'mounted noexec: no program can be started from it'; }; "
    "can_at_home() { e=$(mkdir -p \"$h\" 2>&1) || "
    "{ no \"$h\" \"cannot be made (${e##*: })\"; return; }; in_home \"$k\" \"$s\" || { "
    "y='chmod go-w ~/.cache, or remove ~/.cache/autodist'; "
    "no \"$h\" 'not used: another user owns or can write to it or a folder above it'; return; }; "
    "can \"$h\"; }; "
    "can_in_tmp() { e=$(mkdir \"$d\" 2>&1); in_tmp . && mkdir -p \"./$s\" && own \"./$s\" || { "
    "no \"$d\" \"cannot be made or is not yours alone (${e##*: })\"; return; }; can \"$d\"; }; "
    "q=$((z + b)); can_at_home || can_in_tmp || { printf '%s\\nto do: %s\\n' \"$r\" \"$y\" >&2; "
    "exit 1; }; "
    "trap 'rm -f \"$t\" \"$p\"' EXIT && trap 'exit 1' HUP PIPE TERM && "
    "printf '\\nAUTODIST-NEED %s %s\\n' \"$n\" \"$m\" && skip && "
    "timeout \"$w\" head -c \"$z\" > \"$p\" && [ \"$(wc -c < \"$p\")\" -eq \"$z\" ] && "
    "chmod 700 \"$p\" && \"$p\" \"$u\" < \"$p\" > \"$t\" && "
    "[ \"$(wc -c < \"$t\")\" -eq \"$b\" ] && "
    "case \"$(! command -v sha256sum > /dev/null || sha256sum < \"$t\")\" in '' | \"$s \"*) ;; "
    "*) echo \"$f is not what was sent\" >&2; false ;; esac && "
    "mv \"$t\" \"./$f\" && rm -f \"$p\" && trap - EXIT && "
    "run \"$@\"";

const char* ModeWord(AgentMode mode) {
  switch (mode) {
    case AgentMode::kStart:
      return "start";
    case AgentMode::kRejoin:
      return "rejoin";
    case AgentMode::kResume:
      break;
  }
  return "resume";
}

void AppendSession(std::vector<std::string>& command, const AgentSession& session) {
  command.insert(command.end(), {session.job_id, std::to_string(session.node_rank), session.nonce,
                                 std::to_string(session.lease.count()),
                                 std::to_string(session.grace.count()), ModeWord(session.mode)});
  if (!session.scope.empty()) command.push_back(session.scope);
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

}  // namespace autodist::launch
