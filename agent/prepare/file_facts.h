// Facts about files and file systems of the node.
#pragma once

#include <string>

#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"

namespace autodist::agent {

// Returns the digest of a regular file. Blocks while it reads, until the deadline at most, unless
// the file system itself hangs.
v1::FileFact DigestFact(const std::string& path, base::Deadline deadline);

// Returns the content of a file that the chief has written where all nodes should see it: a word of
// at most 256 letters, digits, '-', '_' and '.'. Reads only files whose names begin with
// ".autodist-", and reports no other content.
v1::FileFact SharedFileFact(const std::string& path);

// Returns the facts about the file system of the folder.
v1::DiskFact DiskFactOf(const std::string& folder);

// Returns the version of the libnccl.so.2 that a program with this LD_LIBRARY_PATH and working
// directory would load; "" if it is missing, or if the name of the file has no version.
std::string NcclVersion(const std::string& library_path, const std::string& working_directory);

}  // namespace autodist::agent
