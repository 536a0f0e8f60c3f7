#include "process/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::process {
namespace {

constexpr int kMaxRecords = 100'000;  // in one call; more than a kernel keeps by default
constexpr size_t kLargestRecord = 8192;

}  // namespace

KernelLog::KernelLog(From from) : log_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (from == From::kNow && log_.valid() && lseek(log_.get(), 0, SEEK_END) < 0) log_.Reset();
}

// A record is "6,339,5140900,-;text", followed by lines that begin with a space.
void KernelLog::Read(const std::function<void(const KernelRecord& record)>& take) {
  if (!log_.valid()) return;
  char record[kLargestRecord];
  for (int records = 0; records < kMaxRecords; ++records) {
    const ssize_t size = read(log_.get(), record, sizeof record);
    if (size < 0 && errno == EPIPE) continue;  // records have been overwritten
    if (size <= 0) return;
    std::string_view text(record, static_cast<size_t>(size));
    text = text.substr(0, text.find('\n'));
    const size_t begin = std::min(text.find(';') + 1, text.size());
    const std::vector<std::string_view> head = base::Split(text.substr(0, begin), ',');
    const auto time = head.size() > 2 ? base::ParseNumber<int64_t>(head[2]) : std::nullopt;
    take({text.substr(begin), std::chrono::microseconds(time.value_or(0))});
  }
}

}  // namespace autodist::process
