// Waits for the agent, or autodist itself, at the far end of a byte stream to a node: through the
// login shell's start-up files, the sending of the program and its start. Knows which of these
// steps was reached, and so what a failure is about.
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

// A login shell's start-up files may take long.
inline constexpr std::chrono::seconds kDefaultReadyLimit{60};

struct StartWatch {
  std::chrono::milliseconds limit = kDefaultReadyLimit;  // for each step but the sending
  // Called when the login shell has run what it was given, and while the program is sent: so many
  // of so many bytes. May be null.
  std::function<void()> shell_ran = {};
  std::function<void(uint64_t bytes, uint64_t of)> sent = {};
};

// Which step of a start was reached. Each but the last may fail for reasons of its own.
enum class StartStep {
  kShell,    // logged in; the login shell has not run anything
  kFolder,   // the script looks for the program, or for a place for it
  kSending,  // the program is sent
  kProgram,  // it has been sent, or was there
};

struct FailedStart {
  StartStep step;
  bool timed_out;       // else the far end has ended it, or the connection has
  std::string printed;  // on stdout
  std::string said;     // on stderr
  std::string program;  // "the agent"
  std::chrono::milliseconds limit;
};

// The headline and the hint for it. Pure logic.
Status WhyNotStarted(const FailedStart& failed, const Status& why);

// Reads what a command of launch/install_agent.h prints until the program says that it is there
// (rpc::ReadyLine), sending it where it is asked for. Returns the stream's socket. Blocks for at
// most the limit, with five minutes where the program has to be sent. kNotFound: the command ended
// without starting it. kAborted: the agent to resume with is gone; the message is what became of
// it.
Result<base::UniqueFd> AwaitProgram(transport::Stream& stream, const transfer::NodeProgram& program,
                                    const std::string& nonce, const AgentCommand& command,
                                    const std::stop_token& stop, const StartWatch& watch);

struct ReachedAgent {
  base::UniqueFd socket;  // gRPC's from here on
  std::string scope;      // as AgentSession has it
};

// The same of an agent, which is greeted.
Result<ReachedAgent> AwaitAgent(transport::Stream& stream, const transfer::NodeProgram& program,
                                const AgentSession& session, const AgentCommand& command,
                                const std::stop_token& stop, const StartWatch& watch);

}  // namespace autodist::launch
