#include "agent/fetch/job_span.h"

#include <ctime>

namespace autodist::agent {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// The interval at which the times of new files advance: a tick of the kernel, or a second in file
// systems that keep only those.
int64_t StepOfTimes(int64_t now) {
  timespec tick{};
  clock_getres(CLOCK_REALTIME_COARSE, &tick);
  return now % kSecond == 0 ? kSecond : tick.tv_nsec;
}

}  // namespace

JobSpan::JobSpan(const JobAge& age, int64_t now) : error_(age.error.count()) {
  // Rounded down as the time of a file that was written at the beginning.
  if (age.began) began_ = now - age.began->count() - StepOfTimes(now);
  if (age.ended) ended_ = now - age.ended->count();
}

bool JobSpan::Covers(int64_t time, int64_t error) const {
  return (!began_ || time >= *began_ - error) && (!ended_ || time <= *ended_);
}

bool JobSpan::HasChanged(int64_t modified_ns, int64_t changed_ns) const {
  if (Covers(changed_ns, 0)) return true;
  return Covers(modified_ns, error_) && (!began_ || changed_ns >= *began_ - error_);
}

}  // namespace autodist::agent
