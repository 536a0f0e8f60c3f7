// What starts the agent, or autodist itself, on a node, and sends the program there first where it
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
  kRejoin,  // the one that there is, else a new one once what an earlier one has left has ended
  kResume,  // the one that runs already, or none
};

// Which agent is wanted.
struct AgentSession {
  std::string job_id;
  uint32_t node_rank;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;
  std::string nonce;     // new for each stream
  std::string greeting;  // by which the agent knows its chief (rpc/bootstrap_lines.h)
  AgentMode mode = AgentMode::kStart;
  std::string scope = {};  // with kResume: that of the agent's start; "": not known
};

struct AgentCommand {
  std::vector<std::string> argv;
  bool installs = false;
};

// What to run on a node that may lack the program; the nonce is that of the lines that it prints.
AgentCommand InstallingCommand(const transfer::NodeProgram& program, const std::string& nonce,
                               const std::vector<std::string>& arguments);
// What to run where the agent's program is at `path` already, and on a node that may lack it.
AgentCommand AgentCommandAt(const std::string& path, const AgentSession& session);
AgentCommand InstallingAgentCommand(const transfer::NodeProgram& program,
                                    const AgentSession& session);

// What to run as a task of a Slurm step whose srun is here: a callback client
// (agent/life/connect_back) that tries for `patience` to reach the port at Slurm's own address for
// this machine, or at one of the hosts; an IPv6 address is in brackets. On stdin it gets the key,
// and where it asks for it the agent. `munge`: munged's socket, "" the default one, if the key
// comes sealed (slurm/sealed_key.h).
std::vector<std::string> CallbackInstallArgv(const transfer::NodeProgram& program,
                                             const std::string& nonce,
                                             std::chrono::seconds patience, uint16_t port,
                                             const std::vector<std::string>& hosts,
                                             const std::optional<std::string>& munge);

// The machine for which the last line that such a command has printed asks for a program.
std::optional<std::string> MachineInNeed(std::string_view seen, const std::string& nonce);
// Sends it; `sent`: so much of so much, in bytes. Blocks for five minutes at most, longer where it
// is large.
Status SendProgram(int socket, const bundle::Agent& variant,
                   const std::function<void(uint64_t bytes, uint64_t of)>& sent);

}  // namespace autodist::launch
