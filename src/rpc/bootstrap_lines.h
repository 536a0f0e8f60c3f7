// The protocol by which an agent is started: what the far end of a new byte stream and the chief
// say to each other before gRPC takes the stream over. The far end prints lines; everything else
// printed until then, by a login shell say, is to be ignored: the nonce, new for each stream, makes
// the lines unmistakable.
#pragma once

#include <cstddef>
#include <string>

namespace autodist::rpc {

// The agent is connected. The chief sends its greeting; the bytes after it are gRPC's.
inline std::string ReadyLine(const std::string& nonce) {
  return "\nAUTODIST-READY " + nonce + "\n";
}

// Before the ready line: the rest is what a later login needs to tell whether the agent's processes
// would be seen by it (agent/life/keepers.h, ProcessScope).
inline std::string BeginOfScopeLine(const std::string& nonce) {
  return "\nAUTODIST-SCOPE " + nonce + " ";
}

// There is no such agent any more; what became of it follows, until the end of the stream.
inline std::string GoneLine(const std::string& nonce) { return "\nAUTODIST-GONE " + nonce + "\n"; }

// A login shell has run what it was given; the agent is about to be put in place.
inline std::string ShellLine(const std::string& nonce) {
  return "\nAUTODIST-SHELL " + nonce + "\n";
}

// The agent is not on the node, which is such a machine as the rest of the line says: send exactly
// the bytes of the agent for it, as they travel.
inline std::string BeginOfNeedLine(const std::string& nonce) {
  return "\nAUTODIST-NEED " + nonce + " ";
}

// Begins the last line that the far end writes to stderr where it could not start the agent: what
// the person can do about it.
inline constexpr char kRemedyMark[] = "hint: ";

// The greeting: the key that the agent should have, and the one it may have instead. An agent that
// was just started takes the first for its own.
inline constexpr size_t kKeySize = 32;  // bytes
inline constexpr size_t kGreetingSize = 2 * kKeySize;

}  // namespace autodist::rpc
