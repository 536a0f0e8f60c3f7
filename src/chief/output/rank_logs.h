// Output of the ranks of one attempt: writes a log file for each stream, and passes lines to the
// terminal.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "chief/output/fatal_messages.h"
#include "display/line_reader.h"
#include "display/rank_lines.h"
#include "display/screen.h"
#include "logs/log_index.h"
#include "progress/progress_reader.h"

namespace autodist::chief {

// Keeps a rank's last output, and the message that says why it ended. Its size is bounded, whatever
// is written.
class FailureExcerpt {
 public:
  static constexpr size_t kMaxLines = 10;        // per stream
  static constexpr size_t kMaxLineLength = 400;  // bytes of a line

  explicit FailureExcerpt(const std::string& working_directory)
      : fatal_{FatalMessages(working_directory, false), FatalMessages(working_directory)} {}

  // Takes a complete line; of a very long one, the beginning. Ignores empty lines, and text that a
  // progress bar replaced with '\r'.
  void Take(display::Stream stream, std::string_view line, display::Time now = {});

  // Returns the last lines, the oldest first, each cut to kMaxLineLength.
  std::vector<std::string> Lines(display::Stream stream) const;
  // Returns the last line of either stream; "" if none.
  std::string LastLine() const;
  // Returns the message that best explains the end; null: none.
  const FatalMessage* fatal() const;
  // Returns the number of later lines in the same stream; nullopt: `stream` is the other one.
  std::optional<uint32_t> LinesSinceFatal(display::Stream stream) const;
  // Returns what NCCL's watchdog wrote last; null: nothing.
  const EnqueuedCollectives* enqueued() const;

 private:
  // The messages of the stream that has it; null: none.
  const FatalMessages* Fatal() const;

  struct Ring {
    std::array<std::string, kMaxLines> lines;
    size_t taken = 0;
  };

  std::array<Ring, 2> rings_;
  display::Stream last_ = display::kStdout;
  std::array<FatalMessages, 2> fatal_;
};

// Recognizes output that ranks write because of a request of autodist. Returns whether all of it is
// what PyTorch writes when a flight record is requested (ProcessGroupNCCL.cpp, seen with 2.11): it
// is no sign of life, and not shown.
bool IsRequestedOutput(std::string_view output);

// Returns the plan's processes, for their output.
std::vector<display::Process> ProcessesOf(const v1::LaunchPlan& plan);

// A rank's latest progress and output.
struct RankReport {
  std::optional<v1::Progress> progress;  // absent: none reported yet
  std::string last_line;                 // of either stream, or its progress bar
  int64_t last_output_ms = 0;            // since 1970; 0: none yet
  std::string failure;                   // as in SnapshotRank
  int64_t failure_ms = 0;
  bool failure_in_doubt = false;  // progress that arrived before it may have followed it
};

// Used by one thread, which it may block. ExcerptOf, LastReport, TakeProgressLine and
// report_version are thread-safe and do not block.
class RankLogs {
 public:
  using Time = display::Time;

  // Creates the folder, and in it the files rank-N.out and rank-N.err for every rank of the plan;
  // index files record when they were written (logs::LogIndexWriter). With a pattern, progress is
  // recognized only by it.
  static Result<std::shared_ptr<RankLogs>> Create(
      const v1::LaunchPlan& plan, const base::LogFolder& folder, const display::View& view,
      const std::optional<progress::Pattern>& pattern = {});

  // Ignores output of ranks that are not in the plan.
  void Take(const v1::Output& output, Time now, display::Screen& screen);
  // Ends incomplete lines: no more output follows.
  void EndLines(display::Screen& screen) { lines_.EndLines(screen); }
  // See display::RankLines.
  void ShowErrorsOf(uint32_t rank, display::Screen& screen) { lines_.ShowErrorsOf(rank, screen); }
  void Update(Time now, display::Screen& screen) {
    now_ = now;
    lines_.Update(now, screen);
  }
  std::optional<Time> Due(const display::Screen& screen) const { return lines_.Due(screen); }

  // For a rank of the plan.
  FailureExcerpt ExcerptOf(uint32_t rank) const;
  // Failures of all ranks that wrote a fatal message, and few lines since.
  std::vector<RankFailure> Failures() const;
  // The latest report of a rank; empty for a rank that is not in the plan.
  RankReport LastReport(uint32_t rank) const;
  // Takes a line that a rank wrote to AUTODIST_PROGRESS; ignores ranks that are not in the plan.
  void TakeProgressLine(uint32_t rank, std::string_view line, Time now);
  // Changes whenever LastReport does.
  uint64_t report_version() const { return report_version_; }
  // When a progress bar of other work than training last moved, such as an evaluation, in
  // milliseconds since 1970; 0: never. Thread-safe.
  int64_t other_work_ms() const { return other_work_ms_; }
  // How long ago a rank reported the first step. Thread-safe; call only if one has.
  Time::duration since_first_step() const { return Time::clock::now() - first_step_.load(); }
  // Warnings about lost output; valid after the last output.
  std::vector<std::string> warnings() const;
  // What the log files of a rank have; valid after the last output. Blocks.
  enum class Kept : uint8_t { kAll, kPart, kNothing, kRemoved };
  Kept WhatIsKept(uint32_t rank) const;

 private:
  struct File {  // of one stream of one rank
    logs::LogIndexWriter times;
    base::UniqueFd fd = {};
    std::list<File*>::iterator place = {};  // in open_, if fd is valid
    uint64_t size = 0;                      // in bytes
    bool cut_short = false;
  };
  struct Rank {
    std::array<File, 2> files;
    FailureExcerpt failure_excerpt;
    progress::ProgressReader reader;
    RankReport report = {};
    std::array<uint64_t, 2> read_ms = {};                  // of the last pieces, as in v1.Output
    std::pair<display::Stream, uint64_t> progressed = {};  // the piece with the last progress
  };

  RankLogs(const v1::LaunchPlan& plan, const base::LogFolder& folder, const display::View& view);
  Result<File> Create(uint32_t rank, display::Stream stream) const;
  Status Open(const display::Output& output, File& file);
  void WriteFile(const display::Output& output, Rank& rank);
  bool IsEmpty(uint32_t rank) const;
  std::string CutShortText(const std::set<uint32_t>& ranks) const;
  void Keep(uint32_t number, display::Stream stream, std::string_view line);
  void KeepBar(uint32_t number, display::Stream stream, std::string_view bar, bool half);
  void KeepFailure(Rank& rank, display::Stream stream);
  void ReadProgress(Rank& rank, display::Stream stream, std::string_view line);
  void KeepProgress(std::optional<v1::Progress> progress, RankReport& report);
  void Warn(const std::string& what);

  const base::LogFolder folder_;
  display::RankLines lines_;
  std::map<uint32_t, Rank> ranks_;
  std::list<File*> open_;  // the last written first
  std::vector<std::string> warnings_;
  std::set<uint32_t> cut_short_;      // ranks
  std::set<uint32_t> lost_;           // ranks, some of whose output did not arrive
  std::string why_cut_short_;         // the first one
  Time now_{};                        // of the current output
  mutable std::mutex reports_mutex_;  // guards failure_excerpt, reader and report of all ranks
  std::atomic<uint64_t> report_version_ = 0;
  std::atomic<int64_t> other_work_ms_ = 0;
  std::atomic<Time> first_step_ = Time::max();
};

}  // namespace autodist::chief
