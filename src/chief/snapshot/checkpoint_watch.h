// When the newest checkpoint was written.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "chief/loop/loop.h"

namespace autodist::chief {

// The newest time of a file in the folder, since 1970, in nanoseconds; 0: there is none. Absent:
// the folder cannot be read. Logs do not count, and links are not followed. Of a folder with more
// than there should be not all is looked at. Blocks on the disk or its server.
std::optional<int64_t> NewestFile(const std::string& folder);

// Looks through the folder on threads for which nobody waits, as its server may be gone. For the
// loop's thread.
class CheckpointWatch {
 public:
  // Between two looks; but no more than a part in kShare of the time is spent on them: each asks
  // the folder's server about every file.
  static constexpr std::chrono::milliseconds kInterval{5'000};
  static constexpr int kShare = 20;

  struct Seen {
    std::optional<Loop::Time> written;  // the newest; absent: there is none
  };

  CheckpointWatch(std::string folder, Loop& loop);

  // Begins to look: now, or when the look that is under way has been taken. Does not block.
  void Update();
  // What the look has found that has ended last, once; absent: nothing new. Does not block.
  std::optional<Seen> Take();
  // The same of the look that is under way, for which it waits that long at most.
  std::optional<Seen> Await(std::chrono::milliseconds limit);

  // When to look again; Time::max() as long as a look is under way.
  Loop::Time due() const { return looking_ ? Loop::Time::max() : due_; }

  // Whether the folder could ever be read.
  bool seen() const { return seen_; }

 private:
  struct Shared;

  const std::string folder_;
  Loop& loop_;
  const std::shared_ptr<Shared> shared_;
  bool looking_ = false;
  bool again_ = false;  // once that is over
  bool seen_ = false;
  Loop::Time due_{};
  Loop::Time began_{};     // the look under way
  Loop::Time looked_{};    // when the last one began that could read the folder
  int64_t newest_ns_ = 0;  // of all looks
  Loop::Time written_{};   // when that was, by our clock
};

}  // namespace autodist::chief
