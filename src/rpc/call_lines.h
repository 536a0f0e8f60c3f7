// The protocol by which a node calls in: what a caller (agent/life/call) and the chief
// (transport/called) tell each other over TCP, one line each, before the connection becomes the
// standard input and output of a program.
//
//   caller                              chief
//   AUTODIST-CALL <word> <node>
//                                       AUTODIST-CHIEF <word>
//   ended <id> <hex of stderr's end>                              of programs before
//                                       run <id> <hex> <hex> ...  argv; or
//                                       over                      there is nothing more to run
//   started <id>
//   the program's output                the program's input
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::rpc {

// What both sides have to say, 128 random bits each, new for each job. The bytes are not encrypted:
// who reads them on their way learns the words, and who can change them commands the node.
struct CallWords {
  std::string caller;  // of a node
  std::string chief;

  static CallWords Make();
  // As the callers find them on their standard input: one line, with its line feed.
  std::string ToLine() const;
  static std::optional<CallWords> FromLine(std::string_view line);
};

inline constexpr size_t kLongestGreeting = 512;      // bytes, as those below
inline constexpr size_t kLongestReport = 16 * 1024;  // ended
inline constexpr size_t kLongestOrder = 1 << 20;     // run
inline constexpr size_t kLongestStderr = 4 * 1024;   // of which the end is told

std::string CallerGreeting(const CallWords& words, const std::string& node);
std::string ChiefGreeting(const CallWords& words);
// The node that says it is; nullopt: the line is no caller's that knows the word.
std::optional<std::string> NodeInGreeting(std::string_view line, const CallWords& words);
bool IsChiefGreeting(std::string_view line, const CallWords& words);

// Letters, digits, '.', '-' and '_': 255 of them at most.
bool IsNodeName(std::string_view name);

// A line after the greetings: its first word, its number, and what follows, which came as hex.
struct CallLine {
  std::string kind;
  uint64_t id = 0;
  std::vector<std::string> texts = {};

  std::string ToLine() const;
  static std::optional<CallLine> FromLine(std::string_view line);
};
inline constexpr char kOwnProgram[] = "autodist-agent";  // in argv[0]: the caller's own
inline constexpr char kCallRun[] = "run";
inline constexpr char kCallOver[] = "over";
inline constexpr char kCallStarted[] = "started";
inline constexpr char kCallEnded[] = "ended";

enum class LineRead { kWhole, kPart, kBroken };  // kBroken: the stream has ended, or it is too long

// Appends to `line` what has come of it, up to and with its line feed, of which a whole one is
// without. Takes no byte of what follows. Does not block.
LineRead ReadLine(int socket, std::string& line, size_t longest);

}  // namespace autodist::rpc
