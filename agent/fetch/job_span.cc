#include "agent/fetch/job_span.h"

#include <ctime>

namespace autodist::agent {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

constexpr int64_t kLateTicks = 4;  // virtual machines run some later

// The interval at which the times of new files advance: ticks of the kernel, or a second in file
// systems that keep only those, as the folder's may be if no time was measured there.
int64_t StepOfTimes(std::optional<int64_t> measured) {
  timespec tick{};
  clock_getres(CLOCK_REALTIME_COARSE, &tick);
  return measured.value_or(0) % kSecond == 0 ? kSecond : kLateTicks * tick.tv_nsec;
}

}  // namespace

JobSpan::JobSpan(const JobAge& age, std::optional<int64_t> measured, int64_t clock)
    : error_(age.error.count()) {
  const int64_t now = measured.value_or(clock);
  // Rounded down as the time of a file that was written at the beginning.
  if (age.began) began_ = now - age.began->count() - StepOfTimes(measured);
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
