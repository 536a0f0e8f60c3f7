// The lines by which the far end of a fresh byte stream tells the chief where it has got to,
// before gRPC takes the stream over. Everything else printed until then, by a login shell say, is
// to be ignored; the nonce, new for each stream, makes the lines unmistakable.
#pragma once

#include <string>

namespace autodist::rpc {

// The agent is connected; the bytes after this line are gRPC's.
inline std::string ReadyLine(const std::string& nonce) {
  return "\nAUTODIST-READY " + nonce + "\n";
}

// A login shell has run what it was given; the agent is about to be put in place.
inline std::string ShellLine(const std::string& nonce) {
  return "\nAUTODIST-SHELL " + nonce + "\n";
}

// The agent is not on the node: send exactly its bytes.
inline std::string NeedLine(const std::string& nonce) { return "\nAUTODIST-NEED " + nonce + "\n"; }

}  // namespace autodist::rpc
