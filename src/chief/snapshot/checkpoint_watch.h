// Finds the time of the newest checkpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "chief/loop/loop.h"

namespace autodist::chief {

struct Checkpoint {
  int64_t written_ns = 0;  // since 1970, by the file server's clock; 0: there is no file
  std::string name = {};   // relative to the folder
};

// Returns the newest file in the folder. Absent: the folder cannot be read. Ignores logs and does
// not follow links. Scans only part of a folder with too many files. Blocks on the disk or file
// server.
std::optional<Checkpoint> NewestFile(const std::string& folder);

// Scans the folder on detached threads, because its server may not answer. Used on the loop's
// thread.
class CheckpointWatch {
 public:
  // The interval of scans; at most one part in kShare of the time is spent on scans, because each
  // asks the file server about every file.
  static constexpr std::chrono::milliseconds kInterval{5'000};
  static constexpr int kShare = 20;

  struct Seen {
    std::optional<Loop::Time> written;  // the newest; absent: none
    std::optional<Checkpoint> file;     // the same
  };

  CheckpointWatch(std::string folder, Loop& loop);

  // Starts a scan now, or after the running one. Does not block.
  void Update();
  // Returns the result of the last finished scan, once; absent: nothing new. Does not block.
  std::optional<Seen> Take();
  // The same for the running scan, for which it waits up to the limit.
  std::optional<Seen> Await(std::chrono::milliseconds limit);

  // When to scan again; Time::max() during a scan.
  Loop::Time due() const { return looking_ ? Loop::Time::max() : due_; }

  // Returns whether the folder could ever be read.
  bool seen() const { return seen_; }

 private:
  struct Shared;

  const std::string folder_;
  Loop& loop_;
  const std::shared_ptr<Shared> shared_;
  bool looking_ = false;
  bool again_ = false;  // after the running scan
  bool seen_ = false;
  Loop::Time due_{};
  Loop::Time began_{};    // start of the running scan
  Loop::Time looked_{};   // start of the last scan that could read the folder
  Checkpoint newest_;     // of all scans
  Loop::Time written_{};  // that time by the chief's clock
};

}  // namespace autodist::chief
