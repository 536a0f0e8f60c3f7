// Keeps what a stream of a rank wrote until the chief acknowledges it: in memory, then on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

// The bytes from begin() to end() of a stream, by their offset in it. The first kInMemory bytes
// stay in memory; what comes on top goes to a file, a ring, until all has been released. The file
// is made when it is first needed and has no name, so that nothing is left behind whatever happens.
//
// Not thread-safe; blocks on the disk only. A process whose file size is limited must ignore
// SIGXFSZ.
class Spool {
 public:
  static constexpr uint64_t kInMemory = 256 * 1024;  // bytes

  // Keeps `limit` bytes at most. `folder` is where the file is made.
  Spool(uint64_t limit, std::string folder) : limit_(limit), folder_(std::move(folder)) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

  // How many bytes Append takes now; 0: the writer has to wait.
  uint64_t room() const;

  // `data` fits into room(). On failure nothing is appended, and the file is not written to until
  // Release has made the spool empty: room() is what memory takes.
  Status Append(std::string_view data);

  // The bytes from `offset` on, which is from begin() to end(): `most` or fewer, but not none
  // where there are some.
  Result<std::string> Read(uint64_t offset, size_t most) const;

  // What is before `offset` is not needed any more. Ignores offsets outside begin() to end().
  void Release(uint64_t offset);

 private:
  uint64_t file_begin() const { return begin_ + memory_.size(); }
  Status WriteToFile(std::string_view data);

  uint64_t limit_;
  std::string folder_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::string memory_;        // from begin_ to file_begin()
  base::UniqueFd file_;       // from file_begin() to end_, each byte at its offset % limit_
  bool file_failed_ = false;  // to take bytes
};

}  // namespace autodist::agent
