#include "agent/stacks/rank_stacks.h"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "agent/stacks/flight_recorder.h"
#include "agent/stacks/nccl_ras.h"
#include "agent/stacks/stacks.h"
#include "base/deadline.h"
#include "base/ip_address.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

constexpr std::chrono::seconds kLibrariesLimit{10};  // for NCCL, and for flight records
// Ranks: gdb takes a gigabyte or two for each that has all libraries of a framework.
constexpr size_t kAtTheSameTime = 4;

std::set<std::string> OwnAddresses() {
  std::set<std::string> addresses;
  const auto interfaces = base::LocalInterfaces();
  if (!interfaces.ok()) return addresses;
  for (const base::Interface& interface : *interfaces) {
    addresses.insert(interface.address.ToString());
  }
  return addresses;
}

// What NCCL counts for processes of this machine.
class NcclCounts {
 public:
  explicit NcclCounts(const NcclView& view) {
    const std::set<std::string> own =
        view.processes.empty() ? std::set<std::string>() : OwnAddresses();
    for (const NcclView::Process& process : view.processes) {
      if (own.contains(process.host)) lines_[process.count.pid] += CountLine(process.count);
    }
  }

  // Of a process and all below it.
  std::string LinesOf(pid_t pid) const {
    if (lines_.empty()) return "";
    std::vector<pid_t> processes = process::Descendants(pid);
    processes.insert(processes.begin(), pid);
    std::string lines;
    for (const pid_t one : processes) {
      const auto found = lines_.find(one);
      if (found != lines_.end()) lines += found->second;
    }
    return lines;
  }

 private:
  std::map<pid_t, std::string> lines_;
};

struct Libraries {
  std::string nccl_summary;
  NcclCounts nccl;
  std::map<uint32_t, FlightRecord> records;
};

Libraries AskLibraries(const std::string& nccl_address, const std::string& files) {
  const base::Deadline deadline = base::Deadline::After(kLibrariesLimit);
  auto records = base::Async([&] { return FlightRecords(files, deadline); });
  const NcclView nccl = AskNccl(nccl_address.empty() ? kNcclRasAddress : nccl_address, deadline);
  return {nccl.summary, NcclCounts(nccl), records.get()};
}

RankReport ReportOf(const FlightRecord* record) {
  if (!record) return {};
  return {.text = record->text, .flight_record = record->bytes};
}

}  // namespace

std::string RankStacks(Supervisor& supervisor, const process::Environment& rank_environment,
                       const std::string& files,
                       const std::function<void(uint32_t rank, const RankReport& report)>& tell) {
  auto asked = base::Async([address = rank_environment.Get("NCCL_RAS_ADDR"), files] {
                 return AskLibraries(address, files);
               }).share();
  const std::map<uint32_t, pid_t> running = supervisor.RunningRanks();
  const std::vector<std::pair<uint32_t, pid_t>> ranks(running.begin(), running.end());
  base::ParallelFor(ranks.size(), kAtTheSameTime, [&](size_t i) {
    const auto [rank, pid] = ranks[i];
    const std::string stacks = ProcessStacks(pid, supervisor, rank_environment);
    const Libraries& libraries = asked.get();
    const auto record = libraries.records.find(rank);
    RankReport report = ReportOf(record == libraries.records.end() ? nullptr : &record->second);
    report.text += libraries.nccl.LinesOf(pid) + stacks;
    tell(rank, report);
  });
  for (const auto& [rank, record] : asked.get().records) {
    if (!running.contains(rank)) tell(rank, ReportOf(&record));
  }
  return asked.get().nccl_summary;
}

}  // namespace autodist::agent
