// The programs that travel inside autodist, so that whoever has this one file has them all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::bundle {

// A file as it was when autodist was built. The views are of bytes of this program itself.
struct File {
  std::string_view name;
  std::string_view sha256;  // lower-case hex
  uint64_t size;            // bytes
  std::string_view packed;  // a zstd frame
};

// autodist-agent for one kind of machine.
struct Agent {
  std::string_view machine;  // as `uname -m` calls it
  File program;
  // A small static program for the same machine. `UNPACKER N < FILE` writes to its standard output
  // what is packed in FILE after the first N bytes.
  std::string_view unpacker;
};

// For each machine that this build is for; this machine's is the first.
std::span<const Agent> Agents();

// What `autodist bench` runs on nodes that are machines like this one, by their names in one
// folder. None in a build with sanitizers.
std::span<const File> BenchFiles();

// What was packed. kDataLoss if it is not what it was when autodist was built.
Result<std::string> Unpack(const File& file);

// As in File.
std::string Sha256(std::string_view content);

// As `packed` is, but quickly.
std::string Pack(std::string_view content);

}  // namespace autodist::bundle
