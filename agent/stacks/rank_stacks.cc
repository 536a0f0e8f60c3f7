#include "agent/stacks/rank_stacks.h"

#include <sys/types.h>

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "agent/stacks/flight_recorder.h"
#include "agent/stacks/nccl_ras.h"
#include "agent/stacks/other_processes.h"
#include "agent/stacks/stacks.h"
#include "agent/stacks/tcp_sockets.h"
#include "base/deadline.h"
#include "base/ip_address.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

// After a failure of a rank the chief waits ten seconds at most.
constexpr std::chrono::seconds kNcclLimit{5};
// PyTorch 2.11 needs four seconds for the first record.
constexpr std::chrono::seconds kRecordsLimit{10};
// Number of ranks: gdb needs 1 to 2 GB for each with all libraries of a framework.
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

std::vector<pid_t> WithDescendants(pid_t pid) {
  std::vector<pid_t> processes = process::Descendants(pid);
  processes.insert(processes.begin(), pid);
  return processes;
}

// NCCL's counts for processes of this machine.
class NcclCounts {
 public:
  explicit NcclCounts(const NcclView& view) {
    const std::set<std::string> own =
        view.processes.empty() ? std::set<std::string>() : OwnAddresses();
    for (const NcclView::Process& process : view.processes) {
      if (own.contains(process.host)) lines_[process.count.pid] += CountLine(process.count);
    }
  }

  // Returns the lines of a process and all its descendants.
  std::string LinesOf(pid_t pid) const {
    if (lines_.empty()) return "";
    std::string lines;
    for (const pid_t one : WithDescendants(pid)) {
      const auto found = lines_.find(one);
      if (found != lines_.end()) lines += found->second;
    }
    return lines;
  }

 private:
  std::map<pid_t, std::string> lines_;
};

struct Nccl {
  std::string summary;
  NcclCounts counts;
};

Nccl Ask(const std::string& address, const std::map<uint32_t, pid_t>& ranks) {
  std::vector<pid_t> processes;
  for (const auto& [rank, pid] : ranks) {
    const std::vector<pid_t> its = WithDescendants(pid);
    processes.insert(processes.end(), its.begin(), its.end());
  }
  const NcclView view = AskNccl(address, processes, base::Deadline::After(kNcclLimit));
  return {view.summary, NcclCounts(view)};
}

// Gathers the failed connections of this node since the previous look, and during this one if it
// goes on. Thread-safe.
class FailedSoFar {
 public:
  // `goes_on`: also for the next look. `own`: destinations of the agent itself.
  FailedSoFar(ConnectionWatch& watch, bool goes_on, std::vector<std::string> own)
      : watch_(watch), own_(std::move(own)), failed_(watch.Drain()) {
    if (goes_on) {
      watch.Begin();
    } else {
      watch = ConnectionWatch();
    }
  }

  FailedConnections Now() {
    const std::lock_guard lock(mutex_);
    for (const auto& [to, attempts] : watch_.Drain()) {
      failed_[to].refused += attempts.refused;
      failed_[to].failed += attempts.failed;
    }
    for (const std::string& to : own_) failed_.erase(to);
    return failed_;
  }

 private:
  ConnectionWatch& watch_;
  const std::vector<std::string> own_;
  std::mutex mutex_;
  FailedConnections failed_;
};

std::string TextOfFailed(const FailedConnections& failed) {
  constexpr size_t kMaxDestinations = 20;
  std::string text;
  size_t shown = 0;
  for (const auto& [to, attempts] : failed) {
    if (shown++ == kMaxDestinations) break;
    for (const auto& [number, how] :
         {std::pair(attempts.refused, "refused"), std::pair(attempts.failed, "failed")}) {
      if (number > 0)
        text += "connections to " + to + ": " + std::to_string(number) + " " + how + "\n";
    }
  }
  return text;
}

}  // namespace

std::string RankStacks(Supervisor& supervisor, const process::Environment& rank_environment,
                       const AgentPlace& place, const v1::CollectStacks& wanted,
                       ConnectionWatch& connections,
                       const std::function<void(uint32_t rank, const RankReport& report)>& send) {
  const std::string& files = place.files;
  const std::map<uint32_t, pid_t> running = supervisor.RunningRanks();
  std::string ras = rank_environment.Get("NCCL_RAS_ADDR");
  if (ras.empty()) ras = kNcclRasAddress;
  FailedSoFar failed(connections, wanted.watch(), NcclRasEndpoints(ras));
  auto other = base::Async([job = place.job_id] { return BusiestOther(job); }).share();
  auto nccl = base::Async([ras, running] { return Ask(ras, running); }).share();
  const std::set<uint32_t> recording =
      wanted.flight_records() ? RecordingRanks(files) : std::set<uint32_t>();
  // The first of two looks counts retransmissions after its programs, and the second one before, so
  // that programs stop no rank between both.
  const TcpTraffic before = wanted.watch() ? TcpTraffic() : ReadTcpTraffic();
  const StackOptions options{.programs = wanted.programs(),
                             .counted = wanted.watch() ? nullptr : &before};
  const std::vector<std::pair<uint32_t, pid_t>> ranks(running.begin(), running.end());
  std::vector<std::string> stacks(ranks.size());
  const auto send_rank = [&](size_t i, FlightRecord record) {
    const auto [rank, pid] = ranks[i];
    send(rank, {.text = record.text + nccl.get().counts.LinesOf(pid) + TextOfFailed(failed.Now()) +
                        other.get() + stacks[i],
                .flight_record = std::move(record.bytes)});
  };
  base::ParallelFor(ranks.size(), kAtTheSameTime, [&](size_t i) {
    stacks[i] = ProcessStacks(ranks[i].second, supervisor, rank_environment, options);
    const uint32_t rank = ranks[i].first;
    if (recording.contains(rank)) return;
    send_rank(i, ReadFlightRecord(files, rank).value_or(FlightRecord()));
  });
  // Not earlier, because ranks work to write them.
  if (!recording.empty()) AskForFlightRecords(files, base::Deadline::After(kRecordsLimit));
  std::map<uint32_t, FlightRecord> records = TakeFlightRecords(
      files, [&](uint32_t rank) { return recording.contains(rank) || !running.contains(rank); });
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (!recording.contains(ranks[i].first)) continue;
    auto record = records.extract(ranks[i].first);
    send_rank(i, record ? std::move(record.mapped()) : FlightRecord());
  }
  for (auto& [rank, record] : records) {
    send(rank, {.text = record.text, .flight_record = std::move(record.bytes)});
  }
  return nccl.get().summary;
}

}  // namespace autodist::agent
