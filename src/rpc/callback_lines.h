// The protocol by which a node calls in: what a callback client (agent/life/connect_back) and the
// chief (callback/callback_listener) say to each other over an encrypted session (secure/session),
// in which both have shown that they know the node's key, before it becomes the standard input and
// output of a program. One line each.
//
//   client                              chief
//   ended <id> <hex of stderr's end>                              of programs before
//                                       run <id> <hex> <hex> ...  argv; or
//                                       over                      there is nothing more to run
//   started <id>
//   the program's output                the program's input
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::rpc {

inline constexpr size_t kMaxReportLength = 16 * 1024;  // ended, in bytes, as those below
inline constexpr size_t kMaxOrderLength = 1 << 20;     // run
inline constexpr size_t kMaxStderrLength = 4 * 1024;   // of which the end is reported

// Letters, digits, '.', '-' and '_': 200 of them at most.
bool IsNodeName(std::string_view name);

// What a client says of itself within the handshake, in clear: "NODE/INSTANCE".
struct CallbackIdentity {
  std::string node;
  std::string instance;  // new for each process: base::RandomHex

  std::string ToText() const { return node + "/" + instance; }
  static std::optional<CallbackIdentity> FromText(std::string_view text);
};

// A line: its first word, its number, and what follows, which came as hex.
struct CallbackLine {
  std::string kind;
  uint64_t id = 0;
  std::vector<std::string> texts = {};

  std::string ToLine() const;
  static std::optional<CallbackLine> FromLine(std::string_view line);
};
inline constexpr char kOwnProgram[] = "autodist-agent";  // in argv[0]: the client's own
inline constexpr char kCallbackRun[] = "run";
inline constexpr char kCallbackOver[] = "over";
inline constexpr char kCallbackStarted[] = "started";
inline constexpr char kCallbackEnded[] = "ended";

}  // namespace autodist::rpc
