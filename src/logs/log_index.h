// When what is in a rank's log file came: an index beside the file, as FILE.times.
//
// It is entries of 16 bytes, two numbers of 64 bits each, the lowest byte first: an offset in the
// log file, and the time since which the bytes from there on have come, in microseconds since 1970
// (UTC). An entry is written before the bytes, where the one before it is 100 ms or 64 KiB old: the
// order of time over all ranks is as exact as that. A file to which nothing was written has none.
//
// Nothing depends on it but the order and the times that are shown. Where it has been cut short, by
// a crash or a full disk, the bytes after the last whole entry have the time of that. An entry that
// does not lead forward says nothing; time that goes back, as a clock may, is taken to stand still.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log_folder.h"
#include "base/wall_clock.h"

namespace autodist::logs {

// Not thread-safe. What it cannot write is missing, and told by nobody: the log file has the same
// issue, and that is told.
class LogIndexWriter {
 public:
  // Of the log file with that name in the folder.
  LogIndexWriter(base::LogFolder folder, const std::string& log);

  // Bytes that come now are about to be written to the log file at this offset.
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

  // Of those that are there now; entries are numbered from 0.
  uint64_t size() const;
  // nullopt: there are not so many.
  std::optional<Entry> At(uint64_t number);
  // The number of the first that is behind the offset, or not before the time; or size().
  uint64_t FirstBehind(uint64_t offset);
  uint64_t FirstSince(base::WallTime time);

 private:
  uint64_t First(const std::function<bool(const Entry&)>& is_it);

  const std::string path_;
  std::vector<Entry> block_;  // read last
  uint64_t first_ = 0;        // number of the block's first
};

}  // namespace autodist::logs
