// A log file of a rank with the times of the content, read from an offset on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "logs/log_index.h"

namespace autodist::logs {

// Holds no descriptor. Not thread-safe.
class IndexedLog {
 public:
  explicit IndexedLog(std::string path) : path_(std::move(path)), times_(path_) {}

  // Skips everything before the offset.
  void SkipTo(uint64_t offset);
  // Skips everything before the time, except for the beginning of a line. Without times it skips
  // nothing or the whole file.
  void SkipBefore(base::WallTime time);

  // Stops reading at the current end of the file.
  void SetEnd();
  bool AtEnd() const { return offset_ >= end_; }
  uint64_t offset() const { return offset_; }  // of the next piece
  // Returns the time of the next piece; nullopt: unknown.
  std::optional<base::WallTime> Time();
  // Returns a piece with one time, valid until the next call; empty: it cannot be read.
  std::string_view Read();

  // Whether the times are known, or not needed because the file is empty.
  bool HasTimes() const;

 private:
  void Fill();

  const std::string path_;
  LogIndexReader times_;
  uint64_t offset_ = 0;  // end of the read part
  uint64_t end_ = 0;
  std::optional<uint64_t> next_;  // number of the first entry behind the offset, if known
  std::optional<base::WallTime> time_;
  std::string buffer_;
  uint64_t buffer_at_ = 0;  // the offset in the file
};

// Returns the offset of the line with the byte at `offset`. Blocks while it reads a long line.
uint64_t LineBegin(const std::string& path, uint64_t offset);

}  // namespace autodist::logs
