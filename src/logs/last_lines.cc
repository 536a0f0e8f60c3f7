#include "logs/last_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <string_view>

#include "base/fd.h"
#include "base/private_folder.h"
#include "logs/indexed_log.h"
#include "logs/log_index.h"

namespace autodist::logs {
namespace {

constexpr uint64_t kBlock = 64 * 1024;

// Reads one file backward, from entry to entry of the index.
class Backward {
 public:
  explicit Backward(const std::string& path) : path_(path), times_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0) size_ = static_cast<uint64_t>(info.st_size);
    at_ = size_;
    number_ = times_.size();
    EnterChunk();
  }

  bool AtBegin() const { return at_ == 0; }
  const std::optional<base::WallTime>& time() const { return time_; }  // of what is before at_

  // Subtracts the lines that ended at this time from `lines`, and moves to the previous time.
  void Count(size_t& lines) {
    const auto fd = base::OpenOwnFile(path_);
    std::array<char, kBlock> bytes;
    while (at_ > chunk_ && lines > 0) {
      const uint64_t begin = std::max(chunk_, at_ - std::min(at_, kBlock));
      const ssize_t got =
          fd.ok() ? pread(fd->get(), bytes.data(), at_ - begin, static_cast<off_t>(begin)) : 0;
      CountIn(begin, {bytes.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))}, lines);
    }
    if (lines > 0) EnterChunk();
  }

  // Call when no more lines are counted.
  uint64_t BeginOfLines() const { return has_lines_ ? LineBegin(path_, at_) : size_; }

 private:
  void EnterChunk() {
    std::optional<LogIndexReader::Entry> entry;
    while (number_ > 0 && (entry = times_.At(number_ - 1)) && entry->offset >= at_) --number_;
    chunk_ = number_ > 0 && entry ? entry->offset : 0;
    time_ = number_ > 0 && entry ? std::optional(entry->time) : std::nullopt;
  }

  // Moves back before the end of the last requested line. Text after the last "\n" is a line, too.
  void CountIn(uint64_t begin, std::string_view bytes, size_t& lines) {
    while (!bytes.empty() && lines > 0) {
      const bool end_of_file = begin + bytes.size() == size_;
      const size_t newline = end_of_file ? bytes.size() - 1 : bytes.rfind('\n');
      bytes = bytes.substr(0, newline == bytes.npos ? 0 : newline);
      if (newline == bytes.npos) break;
      has_lines_ = true;
      --lines;
    }
    at_ = begin + bytes.size();
  }

  const std::string path_;
  LogIndexReader times_;
  uint64_t size_ = 0;
  uint64_t at_ = 0;      // everything from here on has been examined
  uint64_t number_ = 0;  // of the entry after the current one
  uint64_t chunk_ = 0;   // offset of the current entry
  std::optional<base::WallTime> time_;
  bool has_lines_ = false;  // whether it has requested lines
};

}  // namespace

std::vector<uint64_t> BeginOfLastLines(const std::vector<std::string>& paths, size_t lines) {
  std::vector<Backward> files(paths.begin(), paths.end());
  using Next = std::pair<std::optional<base::WallTime>, size_t>;
  std::priority_queue<Next> latest;
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].AtBegin()) latest.emplace(files[i].time(), i);
  }
  while (lines > 0 && !latest.empty()) {
    const size_t file = latest.top().second;
    latest.pop();
    files[file].Count(lines);
    if (!files[file].AtBegin()) latest.emplace(files[file].time(), file);
  }
  std::vector<uint64_t> begins;
  begins.reserve(files.size());
  for (const Backward& file : files) begins.push_back(file.BeginOfLines());
  return begins;
}

}  // namespace autodist::logs
