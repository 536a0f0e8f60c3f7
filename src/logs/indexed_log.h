// A log file of a rank and the times of what is in it, read from some place on.
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

  // Nothing before the offset is read.
  void SkipTo(uint64_t offset);
  // Nothing is read that came before the time, but for the beginning of a line. Without times all
  // of a file or nothing.
  void SkipBefore(base::WallTime time);

  // What is there now is read, and no more.
  void SetEnd();
  bool AtEnd() const { return offset_ >= end_; }
  uint64_t offset() const { return offset_; }  // of the next piece
  // When the next piece came; nullopt: that is not known.
  std::optional<base::WallTime> Time();
  // A piece that came at one time, until the next call; empty: it cannot be read.
  std::string_view Read();

  // There are times, or nothing that could have one.
  bool HasTimes() const;

 private:
  void Fill();

  const std::string path_;
  LogIndexReader times_;
  uint64_t offset_ = 0;  // read up to here
  uint64_t end_ = 0;
  std::optional<uint64_t> next_;  // number of the first entry behind the offset, once it is known
  std::optional<base::WallTime> time_;
  std::string buffer_;
  uint64_t buffer_at_ = 0;  // its offset in the file
};

// Where the line begins that the byte at the offset is part of. Blocks while a long line is read.
uint64_t LineBegin(const std::string& path, uint64_t offset);

}  // namespace autodist::logs
