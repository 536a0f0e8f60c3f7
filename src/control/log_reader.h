// Reading what the ranks of a job have written, and are writing, to their log files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "autodist/status.h"
#include "base/fd.h"
#include "display/screen.h"

namespace autodist::control {

// Some bytes that a rank wrote, whatever they are.
using ShowBytes =
    std::function<void(uint32_t rank, display::Stream stream, std::string_view bytes)>;

// The files rank-N.out and rank-N.err of a folder, and how far each has been read. Not thread-safe.
class LogReader {
 public:
  explicit LogReader(std::string folder) : folder_(std::move(folder)) {}

  // Of the files that are there, only the last lines will be read, few or short.
  void SkipToLastLines(size_t lines);

  // Passes on all that has not been read yet, rank by rank.
  void ReadAll(const ShowBytes& show);
  // The same for one file; any other name is passed over.
  void ReadFile(std::string_view name, const ShowBytes& show);

 private:
  using File = std::pair<uint32_t, display::Stream>;

  std::map<File, uint64_t> FilesThere() const;
  void Read(File file, const ShowBytes& show);

  const std::string folder_;
  std::map<File, uint64_t> read_;  // bytes
};

// Tells when there is something to read in a folder that is written to on this machine. Not
// thread-safe.
class LogWatch {
 public:
  // kNotFound: there is no such folder yet.
  static Result<LogWatch> Open(const std::string& folder);

  int fd() const { return inotify_.get(); }

  // Passes on what has been written to the files that have changed. Does not wait for more.
  void ReadNew(LogReader& logs, const ShowBytes& show);

 private:
  explicit LogWatch(base::UniqueFd inotify) : inotify_(std::move(inotify)) {}

  base::UniqueFd inotify_;
};

}  // namespace autodist::control
