#include "process/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::process {
namespace {

constexpr int kMaxRecords = 100'000;  // in one call; more than a kernel keeps by default
constexpr size_t kLargestRecord = 8192;
// The number at the start of a record is 8 * facility + severity; the kernel's facility is 0, which
// no other logger can use.
constexpr uint32_t kOfOthers = 8;

}  // namespace

std::optional<KernelRecord> ParseKernelRecord(std::string_view record) {
  const size_t end = record.find(';');
  if (end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> head = base::Split(record.substr(0, end), ',');
  const auto level = base::ParseNumber<uint32_t>(head[0]);
  const auto time = head.size() > 2 ? base::ParseNumber<int64_t>(head[2]) : std::nullopt;
  if (!level || *level >= kOfOthers || !time) return std::nullopt;
  record.remove_prefix(end + 1);
  return KernelRecord{record.substr(0, record.find('\n')), std::chrono::microseconds(*time)};
}

KernelLog::KernelLog(From from, const char* path)
    : log_(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (from == From::kNow && log_.valid() && lseek(log_.get(), 0, SEEK_END) < 0) log_.Reset();
}

void KernelLog::Read(const std::function<void(const KernelRecord& record)>& take) {
  if (!log_.valid()) return;
  char record[kLargestRecord];
  for (int records = 0; records < kMaxRecords; ++records) {
    const ssize_t size = read(log_.get(), record, sizeof record);
    if (size < 0 && errno == EPIPE) continue;  // records have been overwritten
    if (size <= 0) return;
    if (const auto own = ParseKernelRecord({record, static_cast<size_t>(size)})) take(*own);
  }
}

}  // namespace autodist::process
