// File descriptors that close themselves, and the few calls made on them everywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::base {

// Owns one descriptor. Not thread-safe.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.Release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct FdPair {
  UniqueFd first;   // pipe: read end
  UniqueFd second;  // pipe: write end
};

// Opens stdin, stdout and stderr on /dev/null where the process was started without them: their
// numbers would else go to files that have nothing to do with them.
void OpenStandardStreams();

// All descriptors made here are close-on-exec.
Result<FdPair> Pipe();
Result<FdPair> StreamSocketPair();
Status SetNonBlocking(int fd);

// Writes all of `data`; blocks until the deadline at most. `fd` may be blocking or not.
Status WriteAll(int fd, std::string_view data, Deadline deadline);

// Blocks until there is something to read, or the end of the stream.
Status WaitReadable(int fd, Deadline deadline);

// Reads what is there, up to `capacity` bytes, waiting until the deadline for the first of them.
// 0 means end of stream.
Result<size_t> ReadSome(int fd, char* buffer, size_t capacity, Deadline deadline);

// What is left of a file, called `name` in errors; refused beyond `limit` bytes.
Result<std::string> ReadWhole(int fd, const std::string& name, size_t limit);

// The whole of a file, refused beyond `limit` bytes.
Result<std::string> ReadFile(const std::string& path, size_t limit);

// What a symbolic link names, of 4096 bytes at most; "": it cannot be read.
std::string LinkTarget(const std::string& link);

}  // namespace autodist::base
