// Reads the names in a folder. A loop over std::filesystem's iterator throws if reading fails
// halfway, as it may with EIO or with ESTALE of a file server; so nothing else uses that iterator.
#pragma once

#include <string>
#include <vector>

namespace autodist::base {

// Returns the names, sorted, without "." and ".."; on a failure those before it. errno is the
// reason then, otherwise 0. Blocks on the disk.
std::vector<std::string> EntriesOf(const std::string& folder);
// The same for an open folder, even if it was read before or was opened with O_PATH.
std::vector<std::string> EntriesOf(int folder);

}  // namespace autodist::base
