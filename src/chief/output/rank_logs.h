// What the ranks of one attempt write: a log file for each of their streams, and their lines on the
// way to the terminal.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"
#include "base/log_folder.h"
#include "chief/output/failure_excerpt.h"
#include "display/log_files.h"
#include "display/rank_lines.h"
#include "logs/log_index.h"
#include "progress/progress_reader.h"

namespace autodist::chief {

// The plan's processes, as far as their output needs.
std::vector<display::Process> ProcessesOf(const v1::LaunchPlan& plan);

// What a rank has told so far.
struct RankReport {
  std::optional<v1::Progress> progress;  // absent: of its progress it has told nothing
  std::string last_line;                 // of either stream, or the bar that it draws
  int64_t last_output_ms = 0;            // since 1970; 0: none yet
  std::string failure;                   // as SnapshotRank has it
  int64_t failure_ms = 0;
};

// For one thread, which it may block, but for ExcerptOf, LastReport, TakeProgressLine and
// report_version, which are thread-safe and do not.
class RankLogs {
 public:
  using Time = display::Time;

  // Makes the folder, and in it a file rank-N.out and rank-N.err for every rank of the plan; beside
  // them comes when that was written (logs::LogIndexWriter). Progress is recognised by the
  // pattern alone, where there is one.
  static Result<std::shared_ptr<RankLogs>> Create(
      const v1::LaunchPlan& plan, const base::LogFolder& folder, const display::View& view,
      const std::optional<progress::Pattern>& pattern = {});

  // Of ranks that are not the plan's, nothing.
  void Take(const v1::Output& output, Time now, display::Screen& screen);
  // Ends the lines that have not ended: nothing follows.
  void EndLines(display::Screen& screen) { lines_.EndLines(screen); }
  // See display::RankLines.
  void ShowErrorsOf(uint32_t rank, display::Screen& screen) { lines_.ShowErrorsOf(rank, screen); }
  void Update(Time now, display::Screen& screen) {
    now_ = now;
    lines_.Update(now, screen);
  }
  std::optional<Time> Due(const display::Screen& screen) const { return lines_.Due(screen); }

  // Of one of the plan's.
  FailureExcerpt ExcerptOf(uint32_t rank) const;
  // Of all that have written what such programs say last, and next to nothing since.
  std::vector<RankFailure> Failures() const;
  // Likewise; of any other, nothing.
  RankReport LastReport(uint32_t rank) const;
  // A line that a rank has written to AUTODIST_PROGRESS; of one that is not the plan's, nothing.
  void TakeProgressLine(uint32_t rank, std::string_view line, Time now);
  // Another number whenever LastReport has anything new.
  uint64_t report_version() const { return report_version_; }
  // When a bar of something else than training went on last, of an evaluation say, in milliseconds
  // since 1970; 0: none has. Thread-safe.
  int64_t other_work_ms() const { return other_work_ms_; }
  // Of output that is not where it should be; when nothing is taken any more.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct File {  // of one stream of one rank
    logs::LogIndexWriter times;
    base::UniqueFd fd = {};
    std::list<File*>::iterator place = {};  // in open_, where there is a descriptor
    uint64_t size = 0;
    bool cut_short = false;
  };
  struct Rank {
    std::array<File, 2> files;
    FailureExcerpt failure_excerpt;
    progress::ProgressReader reader;
    RankReport report = {};
  };

  RankLogs(const v1::LaunchPlan& plan, const base::LogFolder& folder, const display::View& view);
  Result<File> Create(uint32_t rank, display::Stream stream) const;
  Status Open(const display::Output& output, File& file);
  void WriteFile(const display::Output& output, File& file);
  void Keep(uint32_t number, display::Stream stream, std::string_view line);
  void KeepBar(uint32_t number, std::string_view bar, bool half);
  void ReadProgress(Rank& rank, std::string_view line);
  void Warn(const std::string& what);

  const base::LogFolder folder_;
  display::RankLines lines_;
  std::map<uint32_t, Rank> ranks_;
  std::list<File*> open_;  // the last written first
  std::vector<std::string> warnings_;
  Time now_{};                        // of what is being taken
  mutable std::mutex reports_mutex_;  // guards failure_excerpt, reader and told of all ranks
  std::atomic<uint64_t> report_version_ = 0;
  std::atomic<int64_t> other_work_ms_ = 0;
};

}  // namespace autodist::chief
