// Which files of a folder a job has changed, by the clock of the folder's file server. Pure logic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace autodist::agent {

// The time since the job began and ended; absent: any time before; now.
struct JobAge {
  std::optional<std::chrono::nanoseconds> began = std::nullopt;
  std::optional<std::chrono::nanoseconds> ended = std::nullopt;
  // When these were known.
  std::chrono::steady_clock::time_point as_of = std::chrono::steady_clock::now();
  // By how much the job may have begun earlier: that was measured on another machine.
  std::chrono::nanoseconds error{0};
};

class JobSpan {
 public:
  // `measured`: the time that a file has which is written in the folder now, in nanoseconds since
  // 1970; absent: none can be made there. `clock`: the time of this machine.
  JobSpan(const JobAge& age, std::optional<int64_t> measured, int64_t clock);

  // Whether the file was written during the job, or has become another one under its name. Files of
  // --sync have a time of modification from another machine, but were changed here (ctime) before.
  bool HasChanged(int64_t modified_ns, int64_t changed_ns) const;

 private:
  bool Covers(int64_t time, int64_t error) const;

  std::optional<int64_t> began_;
  std::optional<int64_t> ended_;
  const int64_t error_;
};

}  // namespace autodist::agent
