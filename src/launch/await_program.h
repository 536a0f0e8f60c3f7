// Waits for the agent, or autodist itself, at the far end of a byte stream to a node, through the
// login shell's start-up files, the upload of the program and its start. Records which of these
// states was reached, and derives the cause of a failure from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "base/fd.h"
#include "launch/install_agent.h"
#include "transfer/node_program.h"
#include "transport/transport.h"

namespace autodist::launch {

// Start-up files of a login shell may be slow.
inline constexpr std::chrono::seconds kDefaultReadyLimit{60};

struct StartWatch {
  std::chrono::milliseconds limit = kDefaultReadyLimit;  // for each state except the upload
  // Called when the login shell has executed the command, and during the upload with the bytes sent
  // and their total. May be null.
  std::function<void()> shell_ran = {};
  std::function<void(uint64_t bytes, uint64_t of)> sent = {};
  bool in_container = false;  // no login shell runs there
};

// The last state that a start reached. Each one but the last may fail for different reasons.
enum class StartState {
  kShell,    // logged in; the login shell has not executed anything
  kFolder,   // the script looks for the program, or for a folder for it
  kSending,  // the program is being uploaded
  kProgram,  // it has been uploaded, or existed
};

struct FailedStart {
  StartState state;
  bool timed_out;       // false: the far end or the connection has ended
  std::string printed;  // on stdout
  std::string said;     // on stderr
  std::string program;  // "the agent"
  std::chrono::milliseconds limit;
  bool in_container = false;
};

// Returns the error with its hint. Pure logic.
Status WhyNotStarted(const FailedStart& failed, const Status& why);

// Reads the output of a command of launch/install_agent.h until the program reports that it runs
// (rpc::ReadyLine), and uploads it on request. Returns the stream's socket. Blocks for the limit at
// most, and five minutes more for an upload. kNotFound: the command ended without starting it.
// A ProofOfEnd: the agent to resume with has ended; the message says why.
Result<base::UniqueFd> AwaitProgram(transport::Stream& stream, const transfer::NodeProgram& program,
                                    const std::string& nonce, const AgentCommand& command,
                                    const std::stop_token& stop, const StartWatch& watch);

struct ReachedAgent {
  base::UniqueFd socket;  // owned by gRPC afterwards
  std::string scope;      // see AgentSession
};

// The same for an agent; also sends the greeting.
Result<ReachedAgent> AwaitAgent(transport::Stream& stream, const transfer::NodeProgram& program,
                                const AgentSession& session, const AgentCommand& command,
                                const std::stop_token& stop, const StartWatch& watch);

}  // namespace autodist::launch
