// The protocol of a node that connects back, between a callback client (agent/life/connect_back)
// and the chief (callback/callback_listener). It runs over an encrypted session (secure/session) in
// which both have proved that they know the node's key. Afterwards the session becomes the standard
// input and output of a program. One line each.
//
//   client                              chief
//   ended <id> <hex of stderr's end>                              programs that have ended
//                                       run <id> <hex> <hex> ...  argv; or
//                                       over                      nothing more to run
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

inline constexpr size_t kMaxReportLength = 16 * 1024;  // of `ended`, in bytes, like those below
inline constexpr size_t kMaxOrderLength = 1 << 20;     // of `run`
inline constexpr size_t kMaxStderrLength = 4 * 1024;   // the last bytes, which are reported

// Letters, digits, '.', '-' and '_', at most 200.
bool IsNodeName(std::string_view name);

// The identity that a client sends within the handshake, unencrypted: "NODE/INSTANCE".
struct CallbackIdentity {
  std::string node;
  std::string instance;  // new for each process: base::RandomHex

  std::string ToText() const { return node + "/" + instance; }
  static std::optional<CallbackIdentity> FromText(std::string_view text);
};

// A line: its keyword, its number, and the decoded hex fields.
struct CallbackLine {
  std::string kind;
  uint64_t id = 0;
  std::vector<std::string> texts = {};

  std::string ToLine() const;
  static std::optional<CallbackLine> FromLine(std::string_view line);
};
inline constexpr char kOwnProgram[] = "autodist-agent";  // as argv[0]: the client itself
inline constexpr char kCallbackRun[] = "run";
inline constexpr char kCallbackOver[] = "over";
inline constexpr char kCallbackStarted[] = "started";
inline constexpr char kCallbackEnded[] = "ended";

}  // namespace autodist::rpc
