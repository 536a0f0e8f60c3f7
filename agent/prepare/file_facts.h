// Facts about files and file systems of the node.
#pragma once

#include <string>

#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"

namespace autodist::agent {

// The digest of a regular file. Blocks while it reads, until the deadline at most, unless the file
// system itself hangs.
v1::FileFact DigestFact(const std::string& path, base::Deadline deadline);

// The content of a file that the chief has put where all nodes should see it: one word of at most
// 256 letters, digits, '-', '_' and '.'. Any other file, whose name does not begin with
// ".autodist-", is not read, and no other content is told.
v1::FileFact SharedFileFact(const std::string& path);

// Of the file system that holds the folder.
v1::DiskFact DiskFactOf(const std::string& folder);

// The version of the libnccl.so.2 that a program with this LD_LIBRARY_PATH and working directory
// would load; "" if there is none or its file's name does not tell.
std::string NcclVersion(const std::string& library_path, const std::string& working_directory);

}  // namespace autodist::agent
