// Checksums, which tell whether files on two machines have the same content.
#pragma once

#include <functional>
#include <string>

#include "autodist/status.h"

namespace autodist::files {

// XXH3, 128 bits, in hexadecimal: for files that differ by chance, not by somebody's design.
// Blocks while it reads.
Result<std::string> DigestOfFile(const std::string& path);

// Of all that can be read from `fd`, of the file `name`. `go_on` is asked between pieces of at most
// a megabyte; where it says no, the result is kCancelled.
Result<std::string> DigestOfContent(int fd, const std::string& name,
                                    const std::function<bool()>& go_on);

}  // namespace autodist::files
