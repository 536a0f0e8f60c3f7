// The programs that travel inside autodist, so that whoever has this one file has them all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::bundle {

// A program for one kind of machine. The views are of bytes of this program itself.
struct Program {
  std::string_view machine;  // as `uname -m` calls it
  std::string_view sha256;   // of the program, lower-case hex
  uint64_t size;             // of the program, in bytes
  std::string_view packed;   // a zstd frame
  // A small static program for the same machine. `UNPACKER N < FILE` writes to its standard output
  // what is packed in FILE after the first N bytes.
  std::string_view unpacker;
};

// autodist-agent, for each machine that this build is for; this machine's is the first.
std::span<const Program> Agents();

// The program itself. kDataLoss if it is not what it was when autodist was built.
Result<std::string> Unpack(const Program& program);

// As `packed` is, but quickly.
std::string Pack(std::string_view program);

}  // namespace autodist::bundle
