#include "process/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace autodist::process {
namespace {

constexpr int kMaxRecords = 10'000;  // in one call
constexpr size_t kLargestRecord = 8192;

}  // namespace

KernelLog::KernelLog() : log_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (log_.valid() && lseek(log_.get(), 0, SEEK_END) < 0) log_.Reset();
}

// A record is "6,339,5140900,-;text", followed by lines that begin with a space.
void KernelLog::Read(const std::function<void(std::string_view line)>& take) {
  if (!log_.valid()) return;
  char record[kLargestRecord];
  for (int records = 0; records < kMaxRecords; ++records) {
    const ssize_t size = read(log_.get(), record, sizeof record);
    if (size < 0 && errno == EPIPE) continue;  // records have been overwritten
    if (size <= 0) return;
    std::string_view text(record, static_cast<size_t>(size));
    text = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.find(';') + 1, text.size()));
    take(text);
  }
}

}  // namespace autodist::process
