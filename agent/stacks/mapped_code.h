// The code that a process has mapped from files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::agent {

struct MappedCode {
  std::string file;
  uint64_t size = 0;  // bytes
};

// Parses a line of /proc/PID/maps (proc(5)): "7f0c1000-7f0d2000 r-xp 00000000 fe:01 4711
// /lib/libc.so"; nullopt: not the code of a file.
std::optional<MappedCode> ReadMappedCode(std::string_view line);
// Reads all of a process, by its folder of /proc; empty: unknown. Does not access the files: their
// file server may not answer.
std::vector<MappedCode> MappedCodeOf(const std::string& folder);

}  // namespace autodist::agent
