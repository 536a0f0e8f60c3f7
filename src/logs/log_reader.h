// Reading what the ranks of a job have written, and are writing, to their log files.
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
#include "logs/indexed_log.h"

namespace autodist::logs {

// `last`: there is no more of this stream now.
using ShowOutput = std::function<void(const display::Output& output, bool last)>;

// The files rank-N.out and rank-N.err of a folder, and how far each has been read. Not thread-safe.
class LogReader {
 public:
  // Which of them are of interest.
  using Wanted = std::function<bool(uint32_t rank, display::Stream stream)>;

  explicit LogReader(std::string folder, Wanted wanted = {})
      : folder_(std::move(folder)), wanted_(std::move(wanted)) {}

  // Each of these is about the files that are there, and may be added to another.
  // Only the last lines of each will be read, few or short.
  void SkipToLastLinesOfEach(size_t lines);
  // Only the last lines of all together, of which a bar is one. Returns how many more will be read
  // before them: a bar may have been drawn in several rows.
  size_t SkipToLastLines(size_t lines);
  // Only what came since then.
  void SkipBefore(base::WallTime time);
  // Of all that was written to them it is known when.
  bool HasTimes();

  // Passes on all that has not been read yet, in the order of time; what has no time first, rank by
  // rank.
  void ReadAll(const ShowOutput& show);
  // The same for some files; other names are passed over.
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

// Tells when there is something to read in a folder that is written to on this machine. Not
// thread-safe.
class LogWatch {
 public:
  // kNotFound: there is no such folder yet.
  static Result<LogWatch> Open(const std::string& folder);

  int fd() const { return inotify_.get(); }

  // Passes on what has been written to the files that have changed. Does not wait for more.
  void ReadNew(LogReader& logs, const ShowOutput& show);

 private:
  explicit LogWatch(base::UniqueFd inotify) : inotify_(std::move(inotify)) {}

  base::UniqueFd inotify_;
};

}  // namespace autodist::logs
