#include "launch/install_agent.h"

#include <algorithm>

#include "base/utf8.h"
#include "rpc/bootstrap_lines.h"
#include "scripts/scripts.h"

namespace autodist::launch {
namespace {

using std::chrono::seconds;

constexpr seconds kMinUploadLimit{300};
constexpr uint64_t kSlowestUpload = 20'000;  // bytes per second, also on the node
constexpr size_t kMaxMachineLength = 64;     // bytes of a machine's name

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
  return std::max(kMinUploadLimit, seconds(BytesSent(variant) / kSlowestUpload));
}

// Returns the argv for such a script.
std::vector<std::string> InstallArgv(std::string_view start, const transfer::NodeProgram& program,
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
                                   scripts::Script({start, "own_folder", "install_program"}),
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
  return base::Printable(seen.substr(need.size(), kMaxMachineLength));
}

AgentCommand AgentCommandAt(const std::string& path, const AgentSession& session) {
  AgentCommand command{{path, "attach"}};
  AppendSession(command.argv, session);
  return command;
}

AgentCommand InstallingCommand(const transfer::NodeProgram& program, const std::string& nonce,
                               const std::vector<std::string>& arguments) {
  AgentCommand command{InstallArgv("start_agent", program, nonce), true};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return command;
}

AgentCommand InstallingAgentCommand(const transfer::NodeProgram& program,
                                    const AgentSession& session) {
  std::vector<std::string> arguments = {"attach"};
  AppendSession(arguments, session);
  return InstallingCommand(program, session.nonce, arguments);
}

std::vector<std::string> CallbackInstallArgv(const transfer::NodeProgram& program,
                                             const std::string& nonce, seconds patience,
                                             uint16_t port, const std::vector<std::string>& hosts,
                                             const std::optional<std::string>& munge) {
  std::vector<std::string> argv = InstallArgv("connect_back", program, nonce);
  argv.insert(argv.end(), {std::to_string(patience.count()), std::to_string(port)});
  for (const std::string& host : hosts) argv.push_back(host + ":" + std::to_string(port));
  if (munge) argv.push_back(munge->empty() ? "--munge" : "--munge=" + *munge);
  return argv;
}

}  // namespace autodist::launch
