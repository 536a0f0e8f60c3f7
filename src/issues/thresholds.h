// All thresholds for issues, both while a job runs and for `autodist why`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace autodist::issues {

// How long an issue must last before it is shown. Averages need no such time.
inline constexpr int64_t kMinDurationMs = 10'000;
inline constexpr int64_t kMinSlowStepsMs = 30'000;  // step times of ranks vary
// How long before the job's terminal shows a warning. Slow steps come first: their warning names
// the causes.
inline constexpr std::chrono::seconds kWarnOfSlowStepsAfter{30};
inline constexpr std::chrono::seconds kWarnAfter{60};

// Steps of a rank compared with those of the others.
inline constexpr double kSlowStep = 1.2;  // times the median step time
inline constexpr size_t kMinRanksToCompare = 3;

// Steps of a job. It is stalled after the longest of: kStalledAfterMs, this many times its usual
// step time, and this many times its usual interval between reports of steps.
inline constexpr int64_t kStalledAfterMs = 10'000;
inline constexpr double kStalledAfterSteps = 10;
inline constexpr double kStalledAfterReports = 3;
// It is slow if steps take this many times as long as before, which is 0.6 of the earlier rate, for
// at least this time and this number of spans between reports.
inline constexpr double kSlowdown = 1 / 0.6;
inline constexpr int64_t kSlowdownForMs = 30'000;
inline constexpr size_t kSlowdownSpans = 5;
// Minimum length of the period before.
inline constexpr int64_t kSteadyForMs = 20'000;
inline constexpr size_t kSteadySpans = 6;

// The free share of the disk of the working directory.
inline constexpr double kDiskNearlyFull = 0.01;

// Memory of a node.
// share of time in which some process waits for memory
inline constexpr double kMemoryPressure = 0.2;
inline constexpr double kMemoryFull = 0.98;  // share in use
// Memory of a control group.
inline constexpr double kMemoryLimitReached = 0.9;  // share of the limit; the kernel's count lags
inline constexpr double kMemoryFaults = 200;        // per second: pages read back after eviction
inline constexpr double kMemoryLimitHits = 0.5;     // per second

// CPUs of a node: shares of the cores.
inline constexpr double kCoresInUse = 0.9;
inline constexpr double kCoresTaken = 0.25;  // by other programs
// Below this number of cores, the ranks of a node are idle, and other programs do not slow them.
inline constexpr double kRanksIdle = 0.05;
inline constexpr double kNoCpuPressure = 0.05;  // share of time in which a thread waits for a core
inline constexpr double kCpuPressure = 0.5;
// CPU of a rank.
inline constexpr double kHeldBackCpu = 0.5;  // of the median of the others
// share of time in which it is runnable but does not run
inline constexpr double kHeldBackWait = 0.4;
inline constexpr double kCpuLimitUsedUp = 0.5;  // share of the periods of the control group

// A throttled GPU: its clock compared with the median of the others, or with its maximum.
inline constexpr double kThrottledClock = 0.85;
inline constexpr double kIdleGpu = 0.5;  // below this use, a low clock is normal

// Networks.
inline constexpr double kSlowInterface = 0.25;    // of the speed of the others
inline constexpr uint64_t kInterfaceErrors = 10;  // between two samples
inline constexpr double kLongSendQueue = 0.02;    // seconds to drain
inline constexpr double kMinSent = 1'000;         // bytes per second, for the above
inline constexpr double kMinRetransmitShare =
    0.03;                                       // of the segments: a busy machine acknowledges late
inline constexpr uint64_t kMinRetransmits = 8;  // segments between two samples: a brief loss
inline constexpr uint64_t kUnansweredSegments = 3;  // retransmissions: more than 1.5 seconds

// A rank that the others wait for in each step: CPU time of the main thread, in cores.
// below this, it may be extra work of one rank, such as logging
inline constexpr double kStragglerCores = 0.2;
inline constexpr double kStragglerMoreCores = 0.1;
inline constexpr double kStragglerTimes = 1.25;
inline constexpr uint64_t kStragglerSteps = 3;  // between the looks

}  // namespace autodist::issues
