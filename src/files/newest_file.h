// The newest checkpoint in a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::files {

struct DatedFile {
  int64_t written_ns = 0;  // since 1970, by the file server's clock; 0: there is no file
  std::string name = {};   // relative to the folder
  bool complete = true;    // the whole folder was scanned
};

// Returns the newest file in the folder. Absent: the folder cannot be read. Ignores logs,
// autodist's own files and the folders `left_out`, and does not follow links. Scans only part of a
// folder with more entries than `max_entries`, or from which an entry is removed meanwhile. Blocks
// on the disk or file server.
std::optional<DatedFile> NewestFile(const std::string& folder,
                                    const std::vector<std::string>& left_out, int max_entries);

}  // namespace autodist::files
