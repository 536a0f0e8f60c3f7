// The record of a folder on this node: which files there were received from which file of the
// chief. It is a file in the folder, and saves the next --sync from comparing contents.
#pragma once

#include <sys/stat.h>

#include <string>
#include <unordered_set>

#include "autodist/v1/sync.pb.h"

namespace autodist::agent {

// Not thread-safe; Read and Save block on the disk.
class SyncRecord {
 public:
  // A record that cannot be read counts as empty.
  static SyncRecord Read(int folder);

  // Whether the file that is `here` was received from the chief's, and neither was modified since,
  // even if its time was set back.
  bool Has(const v1::FileEntry& entry, const struct stat& here) const;

  void Add(const v1::FileEntry& entry, const struct stat& here);

  // Replaces the record by the added files. Best effort: without it, --sync compares contents.
  void Save(int folder) const;

 private:
  // A fingerprint of both files; in the record, each is a line.
  std::unordered_set<std::string> known_;
  std::string added_;  // lines
};

}  // namespace autodist::agent
