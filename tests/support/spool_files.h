// Limited file sizes, and files without a name.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <string>

namespace autodist::test {

// The descriptor of our open file without a name in the folder, or -1.
inline int FileOfOursIn(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string file = std::filesystem::read_symlink(entry.path(), error).string();
    if (file.starts_with(folder + "/")) return std::stoi(entry.path().filename().string());
  }
  return -1;
}

// Makes writes beyond this number of bytes of a file fail during its life.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit before_{};
};

}  // namespace autodist::test
