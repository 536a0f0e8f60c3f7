// Prints what ranks have written, each line with its node and rank, to our stdout and stderr.
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

// The processes of the job's attempt, as far as their output needs.
std::vector<display::Process> ProcessesOf(const v1::JobStatus& job);

// Not thread-safe. Blocks while nobody reads what it writes.
class LogPrinter {
 public:
  explicit LogPrinter(display::View view) : view_(std::move(view)) { screen_.EndWithReader(); }

  // Which rank is where, from now on, and where its log files are.
  void SetJob(const v1::JobStatus& job);

  // What is being written.
  void Take(const display::Output& output);
  // What was written long ago, in the order of time: bars became lines then, not now. `last`: and
  // nothing follows on this stream.
  void Replay(const display::Output& output, bool last);
  // The next lines are not printed; after SetJob.
  void SkipLines(size_t lines) { lines_->SkipLines(lines); }
  bool Shows(uint32_t rank, display::Stream stream) { return lines_->IsShown(rank, stream); }

  // Whether anything has been.
  bool took_any() const { return took_any_; }

  // Writes what has been taken, apart from lines that have not ended, and bars where it is time to.
  void Flush();
  // When to call Flush at the latest.
  std::optional<display::Time> Due() const;
  // Nothing follows: writes everything.
  void Finish();

 private:
  const display::View view_;
  bool took_any_ = false;
  display::Screen screen_;
  std::unique_ptr<display::RankLines> lines_;
};

}  // namespace autodist::logs
