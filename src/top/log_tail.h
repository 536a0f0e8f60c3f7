// The last lines of a rank's output, updated as it grows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "display/line_reader.h"
#include "logs/log_reader.h"
#include "top/view_state.h"

namespace autodist::top {

inline constexpr size_t kTailLines = 5'000;

// Reads the rank's files rank-N.out and rank-N.err. Not thread-safe; blocks on the disk.
class LogTail {
 public:
  LogTail(std::string folder, uint32_t rank);

  const std::string& folder() const { return folder_; }
  uint32_t rank() const { return rank_; }

  // Returns whether anything was added.
  bool ReadNew();
  // In order of time; incomplete bars come last.
  std::shared_ptr<const TextLines> lines() const;

 private:
  const std::string folder_;
  const uint32_t rank_;
  logs::LogReader reader_;
  std::array<display::LineReader, 2> streams_;
  TextLines lines_;
};

}  // namespace autodist::top
