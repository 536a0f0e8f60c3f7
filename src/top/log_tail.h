// The last lines that a rank has written, and what it writes.
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

// Reads its files rank-N.out and rank-N.err. Not thread-safe; blocks on the disk.
class LogTail {
 public:
  LogTail(std::string folder, uint32_t rank);

  const std::string& folder() const { return folder_; }
  uint32_t rank() const { return rank_; }

  // Whether anything has come.
  bool ReadNew();
  // In the order of time; bars that are being drawn last.
  std::shared_ptr<const TextLines> lines() const;

 private:
  const std::string folder_;
  const uint32_t rank_;
  logs::LogReader reader_;
  std::array<display::LineReader, 2> streams_;
  TextLines lines_;
};

}  // namespace autodist::top
