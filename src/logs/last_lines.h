// Finds the last lines of several ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace autodist::logs {

// Selects the last lines of all these log files together, by the time at which they ended; if times
// are equal or unknown, lines of later files count as later. Returns for each file the offset of
// the first selected line; the file's size without one. Memory depends neither on the
// files' sizes nor on the number of lines.
std::vector<uint64_t> BeginOfLastLines(const std::vector<std::string>& paths, size_t lines);

}  // namespace autodist::logs
