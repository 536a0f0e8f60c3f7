// Reads the log files of a job's ranks, also while they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "display/rank_lines.h"
#include "logs/log_index.h"

namespace autodist::logs {

// `last`: the stream has no more output at present.
using ShowOutput = std::function<void(const display::Output& output, bool last)>;

// The files rank-N.out and rank-N.err of a folder, and the offset of each. Not thread-safe.
class LogReader {
 public:
  // Selects files.
  using Wanted = std::function<bool(uint32_t rank, display::Stream stream)>;

  explicit LogReader(std::string folder, Wanted wanted = {})
      : folder_(std::move(folder)), wanted_(std::move(wanted)) {}

  // Each of these applies to the files that exist now, and can be combined with others. Skips to
  // the last lines of each file, which may be few or short.
  void SkipToLastLinesOfEach(size_t lines);
  // Skips to the last lines of all files together; a progress bar counts as one. Returns the number
  // of additional lines before them, because a bar may have been drawn in several rows.
  size_t SkipToLastLines(size_t lines);
  // Skips to this time.
  void SkipBefore(base::WallTime time);
  // Whether the times of all output are known.
  bool HasTimes();

  // Passes on all unread output in the order of time; output without times comes first, rank by
  // rank.
  void ReadAll(const ShowOutput& show);
  // The same for some files; ignores other names.
  void ReadFiles(const std::vector<std::string>& names, const ShowOutput& show);

 private:
  using File = std::pair<uint32_t, display::Stream>;

  bool IsWanted(File file) const { return !wanted_ || wanted_(file.first, file.second); }
  std::string PathOf(File file) const;
  IndexedLog& LogOf(File file);
  std::vector<File> ExistingFiles();
  void Read(const std::vector<File>& files, const ShowOutput& show);

  const std::string folder_;
  const Wanted wanted_;
  std::map<File, IndexedLog> logs_;
};

// Detects changes in a folder that is written to on this machine. Not thread-safe.
class LogWatch {
 public:
  // kNotFound: the folder does not exist yet.
  static Result<LogWatch> Open(const std::string& folder);

  int fd() const { return inotify_.get(); }

  // Passes on the new output in changed files. Does not wait for more.
  void ReadNew(LogReader& logs, const ShowOutput& show);

 private:
  explicit LogWatch(base::UniqueFd inotify) : inotify_(std::move(inotify)) {}

  base::UniqueFd inotify_;
};

}  // namespace autodist::logs
