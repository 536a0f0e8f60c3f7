// The restarts of a job, and how long each part of them took.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// Times are in milliseconds of any clock that never goes back. Pure logic; not thread-safe.
class RecoveryTimes {
 public:
  static constexpr size_t kMost = 20;  // restarts that are kept, the last ones

  // The ranks of an attempt are asked to end, or have ended. `notice`: how long its cause had
  // existed before it was noticed.
  void Stops(int64_t now, int64_t notice);
  // They have ended, and the attempt with this number follows. `since_1970`: the same moment.
  void Launches(int64_t now, uint32_t attempt, int64_t since_1970);
  // Its ranks are started; all run; one has made a step.
  void Begins(int64_t now);
  void Runs(int64_t now);
  void FirstStep(int64_t now);

  // Oldest first.
  const std::vector<v1::Recovery>& last() const { return last_; }

 private:
  enum class Part { kNone, kStopping, kPreparing, kStarting, kFirstStep };

  // Ends this part if it is the current one; returns its time.
  std::optional<int64_t> End(Part part, int64_t now, Part next);

  Part part_ = Part::kNone;
  int64_t since_ = 0;  // start of the part
  int64_t notice_ = 0;
  std::vector<v1::Recovery> last_;
};

// Each part that took time, with its name.
struct RecoveryPart {
  const char* name;
  int64_t time;
};
std::vector<RecoveryPart> PartsOf(const v1::Recovery& recovery);
// From the cause to the first step, or as far as it is known.
int64_t Total(const v1::Recovery& recovery);
// In the median of those that are over; absent: none.
std::optional<int64_t> TimeToRecover(const v1::JobSnapshot& snapshot);

}  // namespace autodist::snapshot
