// The protocol between the starting machine and the node to which the chief moves, after
// rpc::ReadyLine. The starting machine sends the length of a v1::JobRequest in JSON (four bytes,
// big-endian), the request, and then a byte for each signal. The node sends the output of `autodist
// run`, and then the end line.
#pragma once

#include <cstddef>
#include <string>

namespace autodist::chief {

inline constexpr size_t kLengthBytes = 4;
inline constexpr size_t kLargestRequest = 8 << 20;  // bytes

// The exit code and a line feed follow.
inline std::string BeginOfEndedLine(const std::string& nonce) {
  return "\nAUTODIST-ENDED " + nonce + " ";
}

}  // namespace autodist::chief
