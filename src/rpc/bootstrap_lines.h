// The start-up protocol between an agent and the chief on a new byte stream, before gRPC takes the
// stream over. The agent's side prints lines. All other output until then, for example of a login
// shell, is ignored: the nonce, new for each stream, identifies the lines.
#pragma once

#include <cstddef>
#include <string>

namespace autodist::rpc {

// Reports that the agent is connected. The chief sends its greeting; the following bytes are
// gRPC's.
inline std::string ReadyLine(const std::string& nonce) {
  return "\nAUTODIST-READY " + nonce + "\n";
}

// Precedes the ready line. The rest of the line lets a later login determine whether it would see
// the agent's processes (agent/life/keepers.h, ProcessScope).
inline std::string BeginOfScopeLine(const std::string& nonce) {
  return "\nAUTODIST-SCOPE " + nonce + " ";
}

// Reports that the agent has ended; the reason follows until the end of the stream.
inline std::string GoneLine(const std::string& nonce) { return "\nAUTODIST-GONE " + nonce + "\n"; }

// Reports that the login shell has executed its command; the agent is installed next.
inline std::string ShellLine(const std::string& nonce) {
  return "\nAUTODIST-SHELL " + nonce + "\n";
}

// Reports that the node has no agent; the rest of the line describes the machine. The chief sends
// exactly the bytes of the compressed agent for it.
inline std::string BeginOfNeedLine(const std::string& nonce) {
  return "\nAUTODIST-NEED " + nonce + " ";
}

// Begins the last line on stderr if the agent could not be started: a hint for the user.
inline constexpr char kRemedyMark[] = "hint: ";

// The size of the greeting: the key that the agent should have, and an alternative that it may
// have. A new agent takes the first one.
inline constexpr size_t kKeySize = 32;  // bytes
inline constexpr size_t kGreetingSize = 2 * kKeySize;

}  // namespace autodist::rpc
