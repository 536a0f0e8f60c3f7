// Files of /proc and /sys, which say something else each time.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace autodist::agent {

// What has been read last. One for many files, so that nothing is allocated for each.
class TextBuffer {
 public:
  // All of the file at once, from its beginning; "" if it cannot be read. Valid until the next
  // call.
  std::string_view Read(int fd);
  // Opens it for that; `path` from the folder `at`, or absolute.
  std::string_view ReadAt(int at, const char* path);
  std::string_view Read(const std::string& path);

 private:
  std::string text_;
};

// One that is read in each sample, and so kept open. Opened again where that has failed.
class KernelFile {
 public:
  explicit KernelFile(std::string path) : path_(std::move(path)) {}

  std::string_view Read(TextBuffer& buffer);

 private:
  std::string path_;
  base::UniqueFd fd_;
};

}  // namespace autodist::agent
