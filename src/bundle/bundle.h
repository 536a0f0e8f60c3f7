// The programs that are embedded in autodist, so that this one file is enough.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::bundle {

// A file at the build of autodist. The views point into this program.
struct File {
  std::string_view name;
  std::string_view sha256;  // lower-case hex
  uint64_t size;            // bytes
  std::string_view packed;  // a zstd frame
  // The file whose content is the frame's prefix; null: none. Programs with the same libraries are
  // small that way.
  const File* base = nullptr;
};

// autodist-agent for one kind of machine.
struct Agent {
  std::string_view machine;  // as `uname -m` prints it
  File program;
  // A small static program for the same machine. `UNPACKER N < FILE` decompresses what follows the
  // first N bytes of FILE to its standard output.
  std::string_view unpacker;
};

// One for each machine that this build supports; this machine's is the first.
std::span<const Agent> Agents();

// The files that `autodist bench` needs on nodes of this machine's type, by their names in one
// folder. Empty in a build without bench, or with a sanitizer.
std::span<const File> BenchFiles();

// Decompresses the file. kDataLoss if the content differs from the build's.
Result<std::string> Unpack(const File& file);

// Returns the hash in the form of File::sha256.
std::string Sha256(std::string_view content);

// Compresses quickly in the format of File::packed.
std::string Pack(std::string_view content);

}  // namespace autodist::bundle
