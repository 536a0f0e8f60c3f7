// Whether a job's steps go on, and as fast as they did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::issues {

// A job that makes no steps. Times are in milliseconds since 1970.
struct Standstill {
  int64_t since_ms;      // the last sign that it was at work
  int64_t last_step_ms;  // its last step
  double usual_ms;       // a step's time until then
};

// A job whose steps take longer than they did.
struct Slowdown {
  int64_t since_ms;
  double step_ms;    // now
  double before_ms;  // in the time before
};

// "0.96 s", "12 ms", "41 s", "2 min 20 s".
std::string StepTimeText(double ms);

// Compares a job with its own past. Pure logic, of bounded size; for one thread.
class StepWatch {
 public:
  // The snapshot as it is now. `other_work_ms`: when an evaluation, or anything else that is no
  // step, went on last; 0: never.
  void Update(const v1::JobSnapshot& snapshot, int64_t other_work_ms);

  std::optional<Standstill> standstill() const { return standstill_; }
  std::optional<Slowdown> slowdown() const;

 private:
  struct Span {
    int64_t begin_ms;
    int64_t end_ms;
    double step_ms;
  };

  void Begin(uint32_t attempt);
  void TakeStep(const v1::Progress& progress, int64_t reported_ms);
  void TakeSpan(const Span& span);
  void KeepEarlier(const Span& span);
  void Judge(const v1::JobSnapshot& snapshot);

  std::optional<uint32_t> attempt_;
  std::optional<uint64_t> steps_;  // of all ranks together
  int64_t reported_ms_ = 0;        // when they were last made
  int64_t alive_ms_ = 0;
  std::optional<double> rate_;  // steps per second, as of then
  std::deque<int64_t> gaps_;    // between reports, the last ones

  std::optional<uint64_t> mark_;  // the job's step where the next span begins
  int64_t mark_ms_ = 0;
  std::vector<double> earlier_;  // step times of spans, as long as they are not slow
  size_t spans_ = 0;             // earlier ones, with those that are not kept
  size_t stride_ = 1;            // of those that are kept
  int64_t steady_ms_ = 0;        // how long these took together
  std::deque<Span> slow_;        // the last spans, all of them slow; else empty
  std::deque<Span> recent_;
  std::optional<Standstill> standstill_;
};

}  // namespace autodist::issues
