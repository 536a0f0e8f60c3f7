// The log file of a rank: reads parts of it and searches it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::web {

// Thread-safe. Ranks may write to the file or replace it meanwhile.
class LogFile {
 public:
  // Opens rank-N.out in the folder, or rank-N.err. kNotFound: it does not exist.
  static Result<LogFile> Open(const std::string& folder, uint32_t rank, bool err);

  uint64_t Size() const;  // 0: unknown
  // Returns fewer bytes where the file is shorter.
  std::string Read(uint64_t from, size_t bytes) const;

 private:
  explicit LogFile(base::UniqueFd fd) : fd_(std::move(fd)) {}

  base::UniqueFd fd_;
};

struct Search {
  std::string text;        // not empty; matches capitals too unless it contains one
  bool backwards = false;  // searches from the last hit to the first
  uint64_t from = 0;       // the first byte that is searched; backwards: the first that is not
  size_t most = 0;         // maximum number of hits
};

struct Hits {
  struct Hit {
    uint64_t line = 0;  // offset where the line begins
    std::string text;   // the line; of a long one, the part around the hit
  };
  std::vector<Hit> hits;  // at most one per line
  // where to continue; nullopt: the file has been searched to its end
  std::optional<uint64_t> next;
  uint64_t size = 0;  // of the file
};

// Blocks while the file is read; memory does not depend on its size. Calls `cancelled` every few
// milliseconds and returns the hits so far if it is true.
Hits Find(const LogFile& file, const Search& search, const std::function<bool()>& cancelled);

}  // namespace autodist::web
