// The command with which one gdb shows the stacks of several processes, and the parser of the
// output. Pure logic.
//
// gdb needs seconds to read the symbols of a framework's libraries. The command makes it read them
// before it stops the first process, which is then stopped for less than a second.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::agent {

// `files`: the mapped files of the processes. A file name with characters that are special to gdb
// is left out, so its symbols are read while a process is stopped.
std::vector<std::string> GdbCommand(const std::vector<pid_t>& processes,
                                    const std::vector<std::string>& files);

struct MappedCode {
  std::string file;
  uint64_t size = 0;  // bytes
};

// Parses a line of /proc/PID/maps (proc(5)): "7f0c1000-7f0d2000 r-xp 00000000 fe:01 4711
// /lib/libc.so"; nullopt: not the code of a file.
std::optional<MappedCode> ReadMappedCode(std::string_view line);

struct GdbStacks {
  std::string text;     // with demangled C++ names
  bool ended = false;   // whether gdb has detached from the process
  bool frames = false;  // whether there is at least one
};

// By process, for those that gdb has reached.
std::map<pid_t, GdbStacks> ReadGdbStacks(std::string_view output);

// Demangles C++ names in the text.
std::string Demangled(std::string_view text);

}  // namespace autodist::agent
