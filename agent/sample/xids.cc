#include "agent/sample/xids.h"

#include <algorithm>
#include <array>

#include "agent/sample/text.h"

namespace autodist::agent {
namespace {

constexpr size_t kMaxXids = 1'000;

}  // namespace

std::optional<Xid> ParseXid(std::string_view log_line) {
  constexpr std::string_view kBegin = "NVRM: Xid (";
  constexpr std::string_view kPci = "PCI:";
  const size_t begin = log_line.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  log_line.remove_prefix(begin + kBegin.size());
  if (log_line.starts_with(kPci)) log_line.remove_prefix(kPci.size());
  const size_t end = log_line.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const auto place = ParsePciPlace(log_line.substr(0, end));
  std::string_view rest = log_line.substr(end + 3);
  const auto number = ParseNumber<uint32_t>(rest.substr(0, rest.find(',')));
  if (!place || !number) return std::nullopt;
  constexpr std::string_view kPid = "pid=";
  const size_t pid = rest.find(kPid);
  rest.remove_prefix(pid == std::string_view::npos ? rest.size() : pid + kPid.size());
  return Xid{*place, *number, ParseNumber<pid_t>(rest.substr(0, rest.find_first_of(", ")))};
}

bool Xid::IsOfProgram() const {
  constexpr std::array<uint32_t, 5> kOfPrograms = {13, 31, 43, 45, 69};
  return std::ranges::count(kOfPrograms, number) > 0;
}

void Xids::Read(const std::function<bool(pid_t pid)>& is_jobs) {
  log_.Read([&](const process::KernelRecord& record) {
    const auto xid = ParseXid(record.line);
    // Other jobs may use the GPU too.
    if (xid && xid->IsOfProgram() && xid->pid && !is_jobs(*xid->pid)) return;
    if (xid && (last_.contains(xid->place) || last_.size() < kMaxXids)) {
      last_[xid->place] = xid->number;
    }
  });
}

std::optional<uint32_t> Xids::Last(PciPlace gpu) const {
  const auto found = last_.find(gpu);
  return found == last_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace autodist::agent
