// A log file of a rank: pieces of it, and searching it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::web {

// Thread-safe. Ranks may write to it meanwhile, or replace it.
class LogFile {
 public:
  // rank-N.out of the folder, or rank-N.err. kNotFound: there is none.
  static Result<LogFile> Open(const std::string& folder, uint32_t rank, bool err);

  uint64_t Size() const;  // 0: it is not known
  // What is there of these bytes.
  std::string Read(uint64_t from, size_t bytes) const;

 private:
  explicit LogFile(base::UniqueFd fd) : fd_(std::move(fd)) {}

  base::UniqueFd fd_;
};

struct Search {
  std::string text;        // not empty; without capital letters it means those, too
  bool backwards = false;  // the last hit first
  uint64_t from = 0;       // the byte from which, or, backwards, before which
  size_t most = 0;         // hits
};

struct Hits {
  struct Hit {
    uint64_t line = 0;  // where it begins
    std::string text;   // it, or what is around the hit in a long one
  };
  std::vector<Hit> hits;         // at most one per line
  std::optional<uint64_t> next;  // where to go on; nullopt: the file has been searched to its end
  uint64_t size = 0;             // of the file
};

// Blocks while the file is read; memory does not depend on its size. `cancelled` is asked every few
// milliseconds; what has been found by then is the answer.
Hits Find(const LogFile& file, const Search& search, const std::function<bool()>& cancelled);

}  // namespace autodist::web
