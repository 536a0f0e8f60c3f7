// From when on something is an issue: all thresholds by which jobs are judged, for what is shown
// while a job runs and for `autodist why` alike.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace autodist::issues {

// For how long it has to be so before it is shown. What was measured over a while needs no time.
inline constexpr int64_t kMinDurationMs = 10'000;
inline constexpr int64_t kMinSlowStepsMs = 30'000;  // which may well differ for a while
// And before the job's terminal gets a line. A rank's steps come first: their line has the causes.
inline constexpr std::chrono::seconds kWarnOfSlowStepsAfter{30};
inline constexpr std::chrono::seconds kWarnAfter{60};

// Steps of a rank, against those of the others.
inline constexpr double kSlowStep = 1.2;  // times the median of a step's time
inline constexpr size_t kMinRanksToCompare = 3;

// Steps of a job. It is stalled after so long without one, or after so many times its usual step
// time, or the usual time between two of its reports of steps, whichever is the longest.
inline constexpr int64_t kStalledAfterMs = 10'000;
inline constexpr double kStalledAfterSteps = 10;
inline constexpr double kStalledAfterReports = 3;
// It is slow if steps take so many times as long as before, 0.6 of the earlier rate, for at least
// so long and for so many spans between reports.
inline constexpr double kSlowdown = 1 / 0.6;
inline constexpr int64_t kSlowdownForMs = 30'000;
inline constexpr size_t kSlowdownSpans = 5;
// What came before has to have lasted, too.
inline constexpr int64_t kSteadyForMs = 20'000;
inline constexpr size_t kSteadySpans = 6;

// The disk of the working directory: the share that is free.
inline constexpr double kDiskNearlyFull = 0.01;
// A rank that has written of a full disk made the best of it if others have written since.
inline constexpr int64_t kDiskFullLongAgoMs = 30'000;

// Memory of a node.
inline constexpr double kMemoryPressure = 0.2;  // share of time some process waits for it
inline constexpr double kMemoryFull = 0.98;     // share in use
// Memory of a control group.
inline constexpr double kMemoryLimitReached = 0.9;  // share of the limit; the kernel counts late
inline constexpr double kMemoryFaults = 200;        // per second: pages that it had to read again
inline constexpr double kMemoryLimitHits = 0.5;     // per second

// CPUs of a node: shares of its cores.
inline constexpr double kCoresInUse = 0.9;
inline constexpr double kCoresTaken = 0.25;  // by other programs
// Below so many cores the ranks of a node stand still, and take no harm from others.
inline constexpr double kRanksIdle = 0.05;
inline constexpr double kNoCpuPressure = 0.05;  // share of time something waits for a core
inline constexpr double kCpuPressure = 0.5;
// CPU of a rank.
inline constexpr double kHeldBackCpu = 0.5;     // of the others' median
inline constexpr double kHeldBackWait = 0.4;    // share of time it is ready to run, and does not
inline constexpr double kCpuLimitUsedUp = 0.5;  // share of the periods of its control group

// A throttled GPU: its clock, against the others' median or what it can do.
inline constexpr double kThrottledClock = 0.85;
inline constexpr double kIdleGpu = 0.5;  // use, below which a low clock is none

// Networks.
inline constexpr double kSlowInterface = 0.25;      // of the others' speed
inline constexpr uint64_t kInterfaceErrors = 10;    // between two samples
inline constexpr double kLongSendQueue = 0.02;      // seconds until it is sent
inline constexpr double kMinSent = 1'000;           // bytes per second, for that
inline constexpr double kManySentAgain = 0.03;      // of the segments: a busy machine answers late
inline constexpr uint64_t kFewSentAgain = 8;        // segments between two looks: a lossy moment
inline constexpr uint64_t kUnansweredSegments = 3;  // times: more than a second and a half

// A rank for which the others wait in each step: the CPU time of its main thread, in cores.
inline constexpr double kStragglerCores = 0.2;  // less is what one rank does besides, as logging
inline constexpr double kStragglerMoreCores = 0.1;
inline constexpr double kStragglerTimes = 1.25;

}  // namespace autodist::issues
