// What the node to which the chief moves, and the machine that it comes from, say to each other
// behind rpc::ReadyLine: from here the length of a v1::JobRequest as JSON, as four bytes, the
// highest first, and it; then a byte for each signal. From there the words of `autodist run`, and
// then that it has ended.
#pragma once

#include <cstddef>
#include <string>

namespace autodist::chief {

inline constexpr size_t kLengthBytes = 4;
inline constexpr size_t kLargestRequest = 8 << 20;  // bytes

// The exit code follows, and a line feed.
inline std::string BeginOfEndedLine(const std::string& nonce) {
  return "\nAUTODIST-ENDED " + nonce + " ";
}

}  // namespace autodist::chief
