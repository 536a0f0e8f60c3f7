// Text files that users wrote, perhaps on other systems; all readers of such files use this.
//
// Skips a byte order mark and ends all lines with a line feed. Rejects encodings other than UTF-8,
// naming them. Pure functions, except ReadTextFile, which blocks on the disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

// Converts "\r\n" to "\n", and also "\r" in a text without any "\n". kInvalidArgument: UTF-16,
// UTF-32, or a zero byte.
Result<std::string> PlainText(std::string_view bytes);

// Reads a whole file and applies PlainText; fails if it has more than `limit` bytes.
Result<std::string> ReadTextFile(const std::string& path, size_t limit);

}  // namespace autodist::base
