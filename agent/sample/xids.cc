#include "agent/sample/xids.h"

#include "health/xid.h"

namespace autodist::agent {
namespace {

constexpr size_t kMaxXids = 1'000;

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

}  // namespace autodist::agent
