// Files of /proc and /sys, whose content changes at each read.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace autodist::agent {

// The buffer of the last read, shared by many files to avoid allocations.
class TextBuffer {
 public:
  // Reads the whole file at once, from the beginning; "" on failure. Valid until the next call.
  std::string_view Read(int fd);
  // Opens and reads a file; `path` is relative to the folder `at`, or absolute.
  std::string_view ReadAt(int at, const char* path);
  std::string_view Read(const std::string& path);

 private:
  std::string text_;
};

// A file that is read for each sample, and so kept open. Reopened after a failure.
class KernelFile {
 public:
  explicit KernelFile(std::string path) : path_(std::move(path)) {}

  std::string_view Read(TextBuffer& buffer);

 private:
  std::string path_;
  base::UniqueFd fd_;
};

}  // namespace autodist::agent
