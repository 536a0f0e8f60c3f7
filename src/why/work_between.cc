#include "why/work_between.h"

#include <cstdint>

#include "base/quantity.h"
#include "issues/issue.h"

namespace autodist::why {
namespace {

constexpr double kWorkingCores = 0.1;
constexpr double kMovingBytes = 16e3;  // per second: more than keepalives of connections
// A slow loader, and a program that saves to a slow disk, may move only a few bytes.
constexpr double kLoadingBytes = 1;
constexpr double kSavingBytes = 1e3;

double Rate(uint64_t earlier, uint64_t now, double over) {
  return now > earlier ? static_cast<double>(now - earlier) / over : 0;
}

double BytesPerSecond(const Work& from, const Work& to) {
  return Rate(from.bytes, to.bytes, static_cast<double>(to.at_ms - from.at_ms) / 1'000);
}

}  // namespace

bool MovesData(const Activity& earlier, const Activity& now) {
  if (!earlier.work || !now.work || now.work->at_ms <= earlier.work->at_ms) return false;
  return BytesPerSecond(*earlier.work, *now.work) >= kMovingBytes;
}

std::string WorkBetween(const Activity& earlier, const Activity& now, Counted counted) {
  if (!earlier.work || !now.work || now.work->at_ms <= earlier.work->at_ms) return "";
  const Work& from = *earlier.work;
  const Work& to = *now.work;
  const auto milliseconds = static_cast<double>(to.at_ms - from.at_ms);
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
  const double bytes = BytesPerSecond(from, to);
  // The frames of a data loader are known to py-spy only; its processes are known to the kernel.
  const double by_workers = Rate(from.workers_bytes, to.workers_bytes, milliseconds / 1'000);
  const bool loads =
      now.doing == Doing::kDataLoader || (now.doing == Doing::kWait && by_workers >= kLoadingBytes);
  if (bytes < (loads ? kLoadingBytes : now.saves ? kSavingBytes : kMovingBytes)) return "";
  return base::Bytes(static_cast<uint64_t>(bytes)) + "/s of data move";
}

}  // namespace autodist::why
