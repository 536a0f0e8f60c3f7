// Runs programs that show the stacks of other processes: py-spy for Python, and gdb.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/stacks/tcp_sockets.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/session.pb.h"
#include "base/deadline.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/environment.h"

namespace autodist::agent {

// Returns the lines of `text`, made printable, each after `indent`.
inline std::string Indented(std::string_view text, const std::string& indent) {
  std::string lines;
  for (const std::string_view line : base::Lines(text)) {
    lines += indent + base::Printable(line) + "\n";
  }
  return lines;
}

// Before the name of the program, and the stacks that it has shown.
inline constexpr char kShownBy[] = "  user-space stacks by ";

// Truncates to `limit` bytes, plus a note about it.
inline std::string Cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  text.resize(base::FirstCharacters(text, limit).size());
  return text + " (cut here)\n";
}

// The command with which one gdb shows the stacks of several processes, and the parser of the
// output. Pure logic.
//
// gdb needs seconds to read the symbols of a framework's libraries. The command makes it read them
// before it stops the first process, which is then stopped for less than a second.

// `files`: the mapped files of the processes. A file name with characters that are special to gdb
// is left out, so its symbols are read while a process is stopped.
std::vector<std::string> GdbCommand(const std::vector<pid_t>& processes,
                                    const std::vector<std::string>& files);

struct GdbStacks {
  std::string text;     // with demangled C++ names
  bool ended = false;   // whether gdb has detached from the process
  bool frames = false;  // whether there is at least one
};

// By process, for those that gdb has reached.
std::map<pid_t, GdbStacks> ReadGdbStacks(std::string_view output);

// Demangles C++ names in the text.
std::string Demangled(std::string_view text);

// Returns when the process was started, in the kernel's ticks; 0: it has ended.
uint64_t StartTime(pid_t pid);

inline constexpr std::chrono::seconds kStackProgramLimit{25};  // per process

struct StackOptions {
  v1::CollectStacks::Programs programs = v1::CollectStacks::PROGRAMS_UNSPECIFIED;
  std::chrono::milliseconds limit = kStackProgramLimit;  // of a program, for one process
  // As of when retransmissions are counted; null: after the programs. Data for ranks that programs
  // stop is sent again.
  const TcpTraffic* counted = nullptr;
};

struct LookedAt {
  pid_t pid = 0;
  uint64_t started = 0;          // StartTime, because the PID may be reused
  bool stopped = false;          // by a signal, not because the job is suspended
  bool uninterruptible = false;  // in the kernel: gdb may wait for it forever
};

class StackPrograms {
 public:
  // Uses programs in the PATH of `rank_environment`.
  StackPrograms(Supervisor& supervisor, const process::Environment& rank_environment,
                const StackOptions& options);

  // Returns a line about the whole node: why no program can run; "": one can.
  std::string WhyNone() const;
  // Whether it is stopped, or about to be, because the job is suspended.
  bool IsSuspended(pid_t pid) const;

  // Returns lines by process: "  user-space stacks by gdb:" with its output, or why there are no
  // stacks. Processes are stopped meanwhile, and resumed afterwards if they ran before. Blocks:
  // starts no program after a minute.
  std::map<pid_t, std::string> StacksOf(const std::vector<LookedAt>& processes);

 private:
  struct PySpyStacks {
    std::string text;
    std::string failure;  // why it shows no frames; "": it does, or has taken too long
  };

  bool Has(const std::string& program) const;
  void LeaveAsItWas(const LookedAt& process) const;
  PySpyStacks ByPySpy(const LookedAt& process);
  std::map<pid_t, std::string> ByGdb(const std::vector<LookedAt>& processes);

  Supervisor& supervisor_;
  const process::Environment environment_;
  const StackOptions options_;
  const base::Deadline deadline_;
  const bool has_py_spy_;
  const bool has_gdb_;
};

}  // namespace autodist::agent
