// Runs on a node as the chief of a run that was started on another machine.
#pragma once

#include <cstddef>
#include <string>

namespace autodist::chief {

// The protocol between the starting machine and the node to which the chief moves, after
// rpc::ReadyLine. The starting machine sends the length of a v1::JobRequest in JSON (four bytes,
// big-endian), the request, and then a byte for each signal. The node sends the output of `autodist
// run`, and then the end line.
inline constexpr size_t kLengthBytes = 4;
inline constexpr size_t kLargestRequest = 8 << 20;  // bytes

// The exit code and a line feed follow.
inline std::string BeginOfEndedLine(const std::string& nonce) {
  return "\nAUTODIST-ENDED " + nonce + " ";
}

// Writes the ready line, reads a v1::JobRequest from stdin, and starts that run. Writes its output
// and then its exit code to stdout. If stdin closes, ends the run. Returns the exit code. Called in
// a process without other threads.
int StartRemoteController(const std::string& nonce);

}  // namespace autodist::chief
