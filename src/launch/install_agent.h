// Commands that start the agent, or autodist itself, on a node, and upload the program first if it
// is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "transfer/node_program.h"

namespace autodist::launch {

enum class AgentMode {
  kStart,   // a new one
  kRejoin,  // the existing one, or a new one after the remains of an earlier one have ended
  kResume,  // the running one only
};

// The agent to start or connect to.
struct AgentSession {
  std::string job_id;
  uint32_t node_rank;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;
  std::string nonce;     // new for each stream
  std::string greeting;  // by which the agent identifies its chief (rpc/bootstrap_lines.h)
  AgentMode mode = AgentMode::kStart;
  std::string scope = {};  // with kResume: of the agent's start; "": unknown
};

struct AgentCommand {
  std::vector<std::string> argv;
  bool installs = false;
};

// The command for a node that may lack the program; it prints lines with the nonce.
AgentCommand InstallingCommand(const transfer::NodeProgram& program, const std::string& nonce,
                               const std::vector<std::string>& arguments);
// The commands for an agent's program at `path`, and for a node that may lack the program.
AgentCommand AgentCommandAt(const std::string& path, const AgentSession& session);
AgentCommand InstallingAgentCommand(const transfer::NodeProgram& program,
                                    const AgentSession& session);

// The command for a task of a Slurm step whose srun runs here: a callback client
// (agent/life/connect_back) that tries for `patience` to reach the port at Slurm's address for this
// machine, or at one of the hosts; IPv6 addresses are in brackets. It reads the key from stdin, and
// on request the agent. `munge`: munged's socket, "" for the default one, if the key is sealed
// (slurm/sealed_key.h).
std::vector<std::string> CallbackInstallArgv(const transfer::NodeProgram& program,
                                             const std::string& nonce,
                                             std::chrono::seconds patience, uint16_t port,
                                             const std::vector<std::string>& hosts,
                                             const std::optional<std::string>& munge);

// Returns the machine type for which the last line of such a command requests a program.
std::optional<std::string> MachineInNeed(std::string_view seen, const std::string& nonce);
// Uploads it; calls `sent` with the bytes sent and their total. Blocks for five minutes at most,
// longer for large programs.
Status SendProgram(int socket, const bundle::Agent& variant,
                   const std::function<void(uint64_t bytes, uint64_t of)>& sent);

}  // namespace autodist::launch
