// Prints what ranks have written, each line with its node and rank, to our stdout and stderr.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "control/log_reader.h"
#include "display/rank_lines.h"
#include "display/screen.h"

namespace autodist::control {

// The processes of the job's attempt, as far as their output needs.
std::vector<display::Process> ProcessesOf(const v1::JobStatus& job);

// Not thread-safe. Blocks while nobody reads what it writes.
class LogPrinter {
 public:
  explicit LogPrinter(display::View view) : view_(std::move(view)) {}

  // Which rank is where, from now on, and where its log files are.
  void SetJob(const v1::JobStatus& job);

  void Take(uint32_t rank, display::Stream stream, std::string_view bytes);

  // Writes what has been taken, apart from lines that have not ended, and bars where it is time to.
  void Flush();
  // When to call Flush at the latest.
  std::optional<display::Time> Due() const;
  // Nothing follows: writes everything.
  void Finish();

  ShowBytes Show() {
    return [this](uint32_t rank, display::Stream stream, std::string_view bytes) {
      Take(rank, stream, bytes);
    };
  }

 private:
  const display::View view_;
  display::Screen screen_;
  std::unique_ptr<display::RankLines> lines_;
};

}  // namespace autodist::control
