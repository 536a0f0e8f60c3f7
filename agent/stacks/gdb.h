// The command by which one gdb shows the stacks of several processes, and what it writes. Pure
// logic.
//
// gdb reads the symbols of a framework's libraries for seconds. Here it has read them before it
// stops the first process, which then stands still for less than a second.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::agent {

// `files`: what the processes have mapped; one whose name gdb might take apart is left out, and
// then read while a process is stopped.
std::vector<std::string> GdbCommand(const std::vector<pid_t>& processes,
                                    const std::vector<std::string>& files);

struct MappedCode {
  std::string file;
  uint64_t size = 0;  // bytes
};

// Of a line of /proc/PID/maps (proc(5)): "7f0c1000-7f0d2000 r-xp 00000000 fe:01 4711 /lib/libc.so";
// nullopt: no file's code.
std::optional<MappedCode> ReadMappedCode(std::string_view line);

struct GdbStacks {
  std::string text;     // with C++'s names as they are written in programs
  bool ended = false;   // the process has been let go of
  bool frames = false;  // there is at least one
};

// By process, of those that gdb has come to.
std::map<pid_t, GdbStacks> ReadGdbStacks(std::string_view output);

// With the names of C++ as they are written in programs, not as compilers write them.
std::string Demangled(std::string_view text);

}  // namespace autodist::agent
