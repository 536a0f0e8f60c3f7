#include "why/work_between.h"

#include <algorithm>
#include <cstdint>

#include "base/quantity.h"
#include "issues/issue.h"

namespace autodist::why {
namespace {

constexpr double kWorkingCores = 0.1;
constexpr double kMovingBytes = 16e3;  // per second: more than keepalives of connections
// A slow loader, and a program that saves to a slow disk, may move only a few bytes. What a loader
// writes to files and pipes does not count: another thread, or a process that was forked like a
// worker, may write a heartbeat. Workers read at least the indices of the samples; their sockets
// are also those of the rank.
constexpr double kLoadingBytes = 1;
constexpr double kSavingBytes = 1e3;

double Rate(uint64_t earlier, uint64_t now, double over) {
  return now > earlier ? static_cast<double>(now - earlier) / over : 0;
}

// The seconds between two samples; 0: unknown.
double SecondsBetween(const Activity& earlier, const Activity& now) {
  if (!earlier.work || !now.work || now.work->at_ms <= earlier.work->at_ms) return 0;
  return static_cast<double>(now.work->at_ms - earlier.work->at_ms) / 1'000;
}

// The bytes per second that a data loader has got. Its frames are known to py-spy only; its
// processes are known to the kernel.
double Loaded(const Work& from, const Work& to, Doing doing, double seconds) {
  if (doing == Doing::kDataLoader) {
    return Rate(from.bytes - std::min(from.bytes, from.written),
                to.bytes - std::min(to.bytes, to.written), seconds);
  }
  return doing == Doing::kWait ? Rate(from.workers_read, to.workers_read, seconds) : 0;
}

}  // namespace

bool MovesData(const Activity& earlier, const Activity& now) {
  const double seconds = SecondsBetween(earlier, now);
  return seconds > 0 && Rate(earlier.work->bytes, now.work->bytes, seconds) >= kMovingBytes;
}

std::string WorkBetween(const Activity& earlier, const Activity& now, Counted counted) {
  const double seconds = SecondsBetween(earlier, now);
  if (seconds == 0) return "";
  const Work& from = *earlier.work;
  const Work& to = *now.work;
  const double milliseconds = seconds * 1'000;
  const double processes = Rate(from.other_processes, to.other_processes, milliseconds);
  const double threads = Rate(from.other_threads, to.other_threads, milliseconds);
  if (processes >= kWorkingCores) return "its other processes use " + issues::Cores(processes);
  if (counted != Counted::kNoThreads && threads >= kWorkingCores)
    return "its other threads use " + issues::Cores(threads);
  if (counted == Counted::kOthers) return "";
  const double main = Rate(from.main_thread, to.main_thread, milliseconds);
  const bool may_wait = from.in_collective || to.in_collective;
  if (counted == Counted::kAll && !may_wait && main >= kWorkingCores) {
    return "it uses " + issues::Cores(main);
  }
  const double bytes = Rate(from.bytes, to.bytes, seconds);
  const bool moves = bytes >= (now.saves ? kSavingBytes : kMovingBytes);
  if (!moves && Loaded(from, to, now.doing, seconds) < kLoadingBytes) return "";
  return base::Bytes(static_cast<uint64_t>(bytes)) + "/s of data move";
}

}  // namespace autodist::why
