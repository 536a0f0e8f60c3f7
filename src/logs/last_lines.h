// Where the last lines begin that several ranks have written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace autodist::logs {

// The last lines of all these log files together, by the time at which they ended; where it is not
// known or the same, those of a later file are the later ones. Returns for each file the offset
// from which on it has some of them: its size where it has none. Memory depends neither on the
// files' sizes nor on the number of lines.
std::vector<uint64_t> BeginOfLastLines(const std::vector<std::string>& paths, size_t lines);

}  // namespace autodist::logs
