// The log files that keep what ranks write, and reading in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "display/screen.h"

namespace autodist::display {

// Where what a rank writes to a stream is kept: FOLDER/rank-N.out or rank-N.err.
std::string LogName(uint32_t rank, Stream stream);
std::string LogPath(const std::string& folder, uint32_t rank, Stream stream);

// Passes on what there is from `from` on, in pieces, until `take` returns false. Blocks on the
// disk.
void ReadPieces(const std::string& path, uint64_t from,
                const std::function<bool(std::string_view piece)>& take);

struct FileEnd {
  uint64_t begin = 0;  // its offset
  std::string text;
};
// The last bytes, no more than `most`; nullopt: the file cannot be read.
std::optional<FileEnd> ReadEnd(const std::string& path, size_t most);

}  // namespace autodist::display
