// Names and reads the log files of ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "display/screen.h"

namespace autodist::display {

// The log file of a rank's stream: FOLDER/rank-N.out or rank-N.err.
std::string LogName(uint32_t rank, Stream stream);
std::string LogPath(const std::string& folder, uint32_t rank, Stream stream);

// Passes the content from `from` on in pieces, until `take` returns false. Blocks on the disk.
void ReadPieces(const std::string& path, uint64_t from,
                const std::function<bool(std::string_view piece)>& take);

struct FileEnd {
  uint64_t begin = 0;  // offset of the text
  std::string text;
};
// Reads at most the last `most` bytes; nullopt: the file cannot be read.
std::optional<FileEnd> ReadEnd(const std::string& path, size_t most);

}  // namespace autodist::display
