// The index of the times in a rank's log file, in FILE.times beside it.
//
// It consists of entries of 16 bytes with two 64-bit little-endian numbers: an offset in the log
// file, and the time from which on the bytes after it were written, in microseconds since 1970
// (UTC). An entry is written before the bytes if the previous one is 100 ms or 64 KiB old; this
// limits the precision of the order over all ranks. A file without content has no index.
//
// It only affects the order and the times that are shown. If it was truncated by a crash or a full
// disk, the bytes after the last complete entry have the time of that entry. Entries that do not
// increase the offset are ignored; times that go back, as clocks may, count as equal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/log_folder.h"
#include "base/wall_clock.h"

namespace autodist::logs {

// Not thread-safe. Write errors are ignored, because the log file has the same issue, which is
// reported.
class LogIndexWriter {
 public:
  // For the log file of that name in the folder.
  LogIndexWriter(base::LogFolder folder, const std::string& log);

  // Call before bytes are written to the log file at this offset.
  void Note(uint64_t offset, base::WallTime now);
  // Holds no descriptor until the next Note.
  void Close() { fd_.Reset(); }

 private:
  const base::LogFolder folder_;
  const std::string name_;
  base::UniqueFd fd_;
  bool begun_ = false;
  bool failed_ = false;
  uint64_t offset_ = 0;  // of the last entry
  base::WallTime time_{};
};

// Holds no descriptor, and little memory. Not thread-safe.
class LogIndexReader {
 public:
  struct Entry {
    uint64_t offset;
    base::WallTime time;
  };

  explicit LogIndexReader(const std::string& log_path);

  // The number of entries at present; they are numbered from 0.
  uint64_t size() const;
  // nullopt: there is no such entry.
  std::optional<Entry> At(uint64_t number);
  // Returns the number of the first entry behind the offset, or not before the time; or size().
  uint64_t FirstBehind(uint64_t offset);
  uint64_t FirstSince(base::WallTime time);

 private:
  uint64_t First(const std::function<bool(const Entry&)>& is_it);

  const std::string path_;
  std::vector<Entry> block_;  // the block read last
  uint64_t first_ = 0;        // number of the first entry in the block
};

// A log file of a rank with the times of the content, read from an offset on. Holds no descriptor.
// Not thread-safe.
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
