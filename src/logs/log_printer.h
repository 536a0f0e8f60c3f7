// Prints the output of ranks to our stdout and stderr, each line with its node and rank.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "display/rank_lines.h"
#include "display/screen.h"
#include "logs/log_reader.h"

namespace autodist::logs {

// Returns the processes of the job's current attempt, as needed for their output.
std::vector<display::Process> ProcessesOf(const v1::JobStatus& job);

// Not thread-safe. Blocks while its output is not read.
class LogPrinter {
 public:
  explicit LogPrinter(display::View view) : view_(std::move(view)) { screen_.EndWithReader(); }

  // Sets the nodes of the ranks, and the paths of the log files.
  void SetJob(const v1::JobStatus& job);

  // Adds new output.
  void Take(const display::Output& output);
  // Adds old output in the order of time: progress bars become lines at their times. `last`:
  // nothing follows on this stream.
  void Replay(const display::Output& output, bool last);
  // Skips the next lines; call after SetJob.
  void SkipLines(size_t lines) { lines_->SkipLines(lines); }
  bool Shows(uint32_t rank, display::Stream stream) { return lines_->IsShown(rank, stream); }

  // Whether there was any output.
  bool took_any() const { return took_any_; }

  // Writes the added output, except for incomplete lines, and progress bars that are due.
  void Flush();
  // Returns the latest time for the next Flush.
  std::optional<display::Time> Due() const;
  // Writes everything; call it last.
  void Finish();

 private:
  const display::View view_;
  bool took_any_ = false;
  display::Screen screen_;
  std::unique_ptr<display::RankLines> lines_;
};

}  // namespace autodist::logs
