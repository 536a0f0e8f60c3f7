#include "agent/sample/gpu_errors.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "health/xid.h"

namespace autodist::agent {
namespace {

constexpr size_t kMaxXids = 1'000;

constexpr size_t kMaxErrors = 64;  // of an attempt on the node

}  // namespace

void Xids::Read(const std::function<bool(pid_t pid)>& is_jobs) {
  log_.Read([&](const process::KernelRecord& record) {
    const auto xid = health::ParseXid(record.line);
    if (!xid) return;
    // Other jobs may use the GPU too.
    if (xid->IsOfProgram() && xid->pid && !is_jobs(*xid->pid)) return;
    const auto place = health::ParsePciPlace(xid->gpu);
    if (place && (last_.contains(*place) || last_.size() < kMaxXids)) last_[*place] = xid->number;
  });
}

std::optional<uint32_t> Xids::Last(health::PciPlace gpu) const {
  const auto found = last_.find(gpu);
  return found == last_.end() ? std::nullopt : std::optional(found->second);
}

void GpuErrorFilter::Take(std::string_view line,
                          const std::function<bool(pid_t pid)>& runs_elsewhere,
                          std::vector<v1::GpuError>& errors) {
  const auto xid = health::ParseXid(line);
  if (!xid || reported_.size() >= kMaxErrors) return;
  const auto gpu = std::ranges::find(gpus_, health::ParsePciPlace(xid->gpu));
  if (gpu == gpus_.end()) return;
  if (xid->IsOfProgram() && xid->pid && runs_elsewhere(*xid->pid)) return;
  if (!reported_.emplace(xid->gpu, xid->number).second) return;
  v1::GpuError& error = errors.emplace_back();
  error.set_xid(xid->number);
  error.set_needs_repair(xid->NeedsRepair());
  error.set_address(xid->gpu);
  error.set_unit(xid->Unit());
  error.set_gpu(static_cast<uint32_t>(gpu - gpus_.begin()));
}

GpuErrors::GpuErrors(const char* log, const std::string& root)
    : log_(process::KernelLog::From::kNow, log), filter_(health::GpusOfDriver(root)) {}

void GpuErrors::RankStarted(pid_t pid) {
  if (running_.empty()) {
    late_ = Read();
    std::erase_if(late_, [](const v1::GpuError& error) { return !error.needs_repair(); });
    ended_.clear();
    filter_.Clear();
  }
  running_.insert(pid);
}

std::vector<v1::GpuError> GpuErrors::RankEnded(pid_t pid) {
  std::vector<v1::GpuError> errors = std::exchange(late_, {});
  std::ranges::move(Read(), std::back_inserter(errors));
  running_.erase(pid);
  ended_.insert(pid);
  return errors;
}

// The process may have been a rank's, and have ended.
std::vector<v1::GpuError> GpuErrors::Read() {
  const auto runs_elsewhere = [this](pid_t pid) {
    const bool of_job = running_.contains(pid) || ended_.contains(pid);
    return !of_job && (kill(pid, 0) == 0 || errno == EPERM);
  };
  std::vector<v1::GpuError> errors;
  log_.Read([&](const process::KernelRecord& record) {
    filter_.Take(record.line, runs_elsewhere, errors);
  });
  return errors;
}

}  // namespace autodist::agent
