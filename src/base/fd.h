// Owned file descriptors, and common operations on descriptors.
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

// Opens stdin, stdout and stderr on /dev/null if the process was started without them. Otherwise
// unrelated files would get their numbers.
void OpenStandardStreams();

// All descriptors created here are close-on-exec.
Result<FdPair> Pipe();
Result<FdPair> StreamSocketPair();
Status SetNonBlocking(int fd);

// Writes all of `data`; blocks until the deadline at most. `fd` may be blocking or not.
Status WriteAll(int fd, std::string_view data, Deadline deadline);

// Blocks until there is data to read or the stream has ended.
Status WaitReadable(int fd, Deadline deadline);

// Reads up to `capacity` bytes of the available data; blocks until the deadline for the first byte.
// 0 means end of stream.
Result<size_t> ReadSome(int fd, char* buffer, size_t capacity, Deadline deadline);

// Reads the rest of a file, called `name` in errors; fails if it has more than `limit` bytes.
Result<std::string> ReadWhole(int fd, const std::string& name, size_t limit);

// Reads a whole file; fails if it has more than `limit` bytes.
Result<std::string> ReadFile(const std::string& path, size_t limit);

// Returns the target of a symbolic link, at most 4096 bytes; "" if it cannot be read.
std::string LinkTarget(const std::string& link);

}  // namespace autodist::base
