// Starts the agent, or autodist itself, at the far end of a byte stream to a node, and sends the
// program there first where it is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "launch/node_program.h"
#include "transport/transport.h"

namespace autodist::launch {

// Which agent is wanted.
struct AgentSession {
  std::string job_id;
  uint32_t node_rank;
  std::chrono::milliseconds lease;
  std::chrono::milliseconds grace;
  std::string nonce;     // new for each stream
  std::string greeting;  // by which the agent knows its chief (rpc/bootstrap_lines.h)
  bool resume = false;   // the agent that runs already, or none
};

struct AgentCommand {
  std::vector<std::string> argv;
  bool installs = false;
};

// What to run on a node that may lack the program; the nonce is that of the lines that it prints.
AgentCommand InstallingCommand(const NodeProgram& program, const std::string& nonce,
                               const std::vector<std::string>& arguments);
// What to run where the agent's program is at `path` already, and on a node that may lack it.
AgentCommand AgentCommandAt(const std::string& path, const AgentSession& session);
AgentCommand InstallingAgentCommand(const NodeProgram& program, const AgentSession& session);

// What to run as a task of a Slurm step whose srun is here: a caller (agent/life/call) that tries
// for `patience` to reach the port at Slurm's own address for this machine, or at one of the hosts;
// an IPv6 address is in brackets. On stdin it gets the key, and where it asks for it the agent.
// `munge`: munged's socket, "" the default one, if the key comes sealed (launch/sealed_key.h).
std::vector<std::string> InstallingCallWords(const NodeProgram& program, const std::string& nonce,
                                             std::chrono::seconds patience, uint16_t port,
                                             const std::vector<std::string>& hosts,
                                             const std::optional<std::string>& munge);

// The machine for which the last line that such a command has printed asks for a program.
std::optional<std::string> MachineInNeed(std::string_view seen, const std::string& nonce);
// Sends it; `sent`: so much of so much, in bytes. Blocks for five minutes at most, longer where it
// is large.
Status SendProgram(int socket, const bundle::Agent& variant,
                   const std::function<void(uint64_t bytes, uint64_t of)>& sent);

// Reads what such a command prints until the program says that it is there (rpc::ReadyLine),
// sending it where it is asked for; `sent`: so much of so much, in bytes. Returns the stream's
// socket. Blocks for at most a minute, five where the agent has to be sent. kNotFound: the command
// ended without starting the agent. kAborted: the agent to resume with is gone; the message is what
// became of it.
Result<base::UniqueFd> AwaitProgram(transport::Stream& stream, const NodeProgram& program,
                                    const std::string& nonce, const AgentCommand& command,
                                    const std::stop_token& stop,
                                    const std::function<void(uint64_t bytes, uint64_t of)>& sent);
// The same of an agent, which is greeted; the socket is gRPC's from here on.
Result<base::UniqueFd> AwaitAgent(transport::Stream& stream, const NodeProgram& program,
                                  const AgentSession& session, const AgentCommand& command,
                                  const std::stop_token& stop,
                                  const std::function<void(uint64_t bytes, uint64_t of)>& sent);

}  // namespace autodist::launch
