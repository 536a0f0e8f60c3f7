// Keeps the output of a rank's stream until the chief acknowledges it: in memory, then on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::agent {

// The bytes from begin() to end() of a stream, by offset. The first kInMemory bytes are in memory;
// further ones go to a file, a ring buffer, until all have been released. The file is created when
// it is first needed and has no name, so that it never remains after a crash.
//
// Not thread-safe; blocks only on the disk. A process with a file size limit must ignore SIGXFSZ.
// SIGXFSZ.
class Spool {
 public:
  static constexpr uint64_t kInMemory = 256 * 1024;  // bytes

  // Keeps at most `limit` bytes. `folder` is for the file.
  Spool(uint64_t limit, std::string folder) : limit_(limit), folder_(std::move(folder)) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

  // Returns how many bytes Append accepts; 0: the writer has to wait.
  uint64_t room() const;

  // `data` must fit into room(). On failure nothing is appended, and the file is not written to
  // until Release has emptied the spool: until then room() is that of the memory.
  Status Append(std::string_view data);

  // Returns bytes from `offset` on, which is from begin() to end(): at most `most`, and at least
  // one if there are any.
  Result<std::string> Read(uint64_t offset, size_t most) const;

  // Releases the bytes before `offset`. Ignores offsets outside begin() to end().
  void Release(uint64_t offset);

 private:
  uint64_t file_begin() const { return begin_ + memory_.size(); }
  Status WriteToFile(std::string_view data);

  uint64_t limit_;
  std::string folder_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  std::string memory_;        // from begin_ to file_begin()
  base::UniqueFd file_;       // from file_begin() to end_, each byte at offset % limit_
  bool file_failed_ = false;  // writing to it failed
};

}  // namespace autodist::agent
