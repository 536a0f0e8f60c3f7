// Text files that people wrote, perhaps on other systems: every reader of one takes it from here.
//
// A byte order mark is passed over, and all lines end with a line feed. Another encoding than UTF-8
// is refused by its name. Pure functions, but for ReadTextFile, which blocks on the disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::base {

// "\r\n" becomes "\n", and so does "\r" in a text without any "\n". kInvalidArgument: UTF-16,
// UTF-32, or a zero byte.
Result<std::string> PlainText(std::string_view bytes);

// The whole of a file, refused beyond `limit` bytes, as PlainText has it.
Result<std::string> ReadTextFile(const std::string& path, size_t limit);

}  // namespace autodist::base
