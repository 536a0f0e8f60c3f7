// The messages of --sync. Pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "files/file_tree.h"

namespace autodist::transfer {

// Counts files, each only once, and their bytes. Not thread-safe.
class FileSum {
 public:
  struct File {
    uint64_t entry;  // of the tree
    uint64_t bytes;
  };
  FileSum(std::initializer_list<File> files = {}) {
    for (const File& file : files) Add(file);
  }

  void Add(File file);
  bool empty() const { return files_ == 0; }
  uint64_t bytes() const { return bytes_; }
  // "2 files, 3.0 kB"
  std::string Text() const;

 private:
  std::vector<bool> counted_;  // by entry
  size_t files_ = 0;
  uint64_t bytes_ = 0;
};

// What a synchronization has done on all nodes.
struct SyncTotals {
  FileSum sent = {};         // content from here
  FileSum passed = {};       // the same from the relaying node
  size_t nodes_sent = 0;     // nodes with differences
  size_t nodes_passed = 0;   // nodes that got files from the relaying node
  size_t nodes_missed = 0;   // nodes that could not get all files there
  size_t nodes_sharing = 0;  // nodes with the same folder
};

// "synced: 2 files, 3.0 kB sent to 2 nodes in 0.1 s". `relays`: one node gets them from here.
std::string SummaryText(const SyncTotals& totals, bool relays, std::chrono::duration<double> took);

// What nodes lack, as far as they have been compared.
struct SyncNeeds {
  FileSum files = {};     // that nodes lack
  size_t nodes = 0;       // that lack one of them
  uint64_t bytes = 0;     // of the files, on these nodes together
  size_t uncompared = 0;  // nodes that may lack the files
};

// "syncing 2 files, 3.0 kB to 1 node", "… to up to 3 nodes".
std::string SendsText(const SyncNeeds& needs);
// The bytes of what the text says, on all its nodes.
uint64_t BytesToSend(const SyncNeeds& needs);

// "comparing 3 files, 2.0 kB with 1 of 2 nodes; connecting to host3": what is done before content
// is sent. `busy`: whether a node is being compared; `unreached`: the addresses of the nodes that
// are not connected, of `nodes`.
std::string WaitsText(const std::string& what, size_t nodes, bool busy,
                      const std::vector<std::string>& unreached);

// The ranks of the nodes that have a file, by its path.
using NodesByPath = std::map<std::string, std::set<uint32_t>>;

// "a.py, b.py on host2, host3; c.pt on host4": some of the files, with nodes that have the same
// ones together. `addresses`: of the nodes, by rank.
std::string NamesByNode(const NodesByPath& files, const std::vector<std::string>& addresses);

// When a job ran in the folder, since 1970.
struct JobTime {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Returns a warning if files of `entries` that a job wrote have at least this size; or "".
inline constexpr uint64_t kLargeOutputs = 10'000'000;  // bytes
std::string LargeOutputsText(const files::FileTree& tree, const std::vector<uint64_t>& entries,
                             const std::vector<JobTime>& jobs);

}  // namespace autodist::transfer
