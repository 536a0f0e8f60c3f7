#include "agent/sample/processes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "agent/sample/host.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

// A process of no rank cannot belong to one later, unless its PID is reused. So each is read again
// only after this number of samples.
constexpr uint32_t kOthersLookInterval = 32;

struct Units {
  double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));  // bytes
};
const Units& KernelUnits() {
  static const Units units;
  return units;
}

// The path of a process's file, relative to /proc.
struct PathOf {
  PathOf(pid_t pid, const char* file) { std::snprintf(text, sizeof text, "%d/%s", pid, file); }
  char text[32];
};

// Groups and limits rarely change.
constexpr int kSamplesBetweenLooks = 5;
constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // version 1 uses a large number for it

// Returns the sum of these values in lines "name number".
uint64_t SumOf(std::string_view text, std::string_view name, std::string_view other = "") {
  uint64_t sum = 0;
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    const std::string_view word = TakeWord(line);
    if (word == name || (!other.empty() && word == other)) sum += TakeNumber<uint64_t>(line);
  }
  return sum;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(name_end + 1);
  ProcessStat process;
  const std::string_view state = TakeWord(stat);
  if (state.size() != 1) return std::nullopt;
  process.state = state[0];
  process.parent = TakeNumber<pid_t>(stat);
  SkipWords(stat, 9);
  // Fields of the process and of reaped children, each in user mode and in the kernel.
  for (int i = 0; i < 2; ++i) process.own_cpu += TakeNumber<uint64_t>(stat);
  process.cpu = process.own_cpu;
  for (int i = 0; i < 2; ++i) process.cpu += TakeNumber<uint64_t>(stat);
  SkipWords(stat, 2);
  process.threads = TakeNumber<uint32_t>(stat);
  SkipWords(stat, 1);
  process.started = TakeNumber<uint64_t>(stat);
  SkipWords(stat, 1);
  const auto resident = ParseNumber<uint64_t>(TakeWord(stat));
  if (!resident) return std::nullopt;
  process.resident = *resident;
  SkipWords(stat, 3);
  process.stack_start = TakeNumber<uint64_t>(stat);
  return process;
}

std::optional<ProcessStat> ReadProcessStat(const std::string& folder) {
  constexpr size_t kLargestStat = 4 << 10;  // bytes
  return ParseProcessStat(base::ReadFile(folder + "/stat", kLargestStat).value_or(""));
}

std::optional<ProcessIo> ParseProcessIo(std::string_view io) {
  ProcessIo bytes;
  bool known = false;
  while (!io.empty()) {
    std::string_view line = TakeLine(io);
    const std::string_view name = TakeWord(line);
    if (name == "read_bytes:") {
      bytes.read = TakeNumber<uint64_t>(line);
      known = true;
    } else if (name == "write_bytes:") {
      bytes.written = TakeNumber<uint64_t>(line);
    }
  }
  return known ? std::optional(bytes) : std::nullopt;
}

ProcessReader::ProcessReader(const std::string& proc_folder, process::TreeSource source)
    : source_(source), folder_(opendir(proc_folder.c_str()), closedir) {}

std::optional<ProcessStat> ProcessReader::StatOf(pid_t pid) {
  return ParseProcessStat(buffer_.ReadAt(dirfd(folder_.get()), PathOf(pid, "stat").text));
}

void ProcessReader::LookAt(pid_t pid) {
  const auto member = members_.find(pid);
  const bool is_other = member == members_.end() && std::ranges::binary_search(others_before_, pid);
  if (is_other &&
      static_cast<uint32_t>(pid) % kOthersLookInterval != samples_ % kOthersLookInterval) {
    others_.push_back(pid);
    return;
  }
  const std::optional<ProcessStat> stat = StatOf(pid);
  if (!stat) return;
  if (member != members_.end() && member->second.started == stat->started) {
    member->second.stat = *stat;
    member->second.seen = true;
  } else {
    newcomers_.push_back({pid, *stat});
  }
}

// A rank may have started processes before it was reported.
void ProcessReader::ForgetOthers(const std::map<uint32_t, pid_t>& ranks) {
  others_before_.clear();
  if (source_ == process::TreeSource::kAllProcesses) return;
  std::set<pid_t> of_ranks;
  for (const auto& [rank, pid] : ranks) {
    of_ranks.insert(pid);
    const std::vector<pid_t> descendants = process::Descendants(pid, source_);
    of_ranks.insert(descendants.begin(), descendants.end());
  }
  std::ranges::set_difference(all_, of_ranks, std::back_inserter(others_before_));
}

void ProcessReader::LookAtAll(const std::map<uint32_t, pid_t>& ranks) {
  ++samples_;
  newcomers_.clear();
  others_before_ = std::exchange(others_, {});
  all_.clear();
  rewinddir(folder_.get());
  while (const dirent* entry = readdir(folder_.get())) {
    if (const auto pid = ParseNumber<pid_t>(entry->d_name)) all_.push_back(*pid);
  }
  std::ranges::sort(all_);
  const auto is_member = [this](const auto& rank) { return members_.contains(rank.second); };
  if (!std::ranges::all_of(ranks, is_member)) ForgetOthers(ranks);
  for (auto& [pid, member] : members_) member.seen = false;
  for (const pid_t pid : all_) LookAt(pid);
  std::erase_if(members_, [](const auto& entry) { return !entry.second.seen; });
}

void ProcessReader::AddRanks(const std::map<uint32_t, pid_t>& ranks) {
  std::erase_if(totals_, [&](const auto& entry) {
    const auto running = ranks.find(entry.first);
    return running == ranks.end() || running->second != entry.second.pid;
  });
  std::erase_if(members_, [&](const auto& entry) { return !ranks.contains(entry.second.rank); });
  for (const auto& [rank, pid] : ranks) {
    totals_[rank].pid = pid;
    const auto found = std::ranges::find(newcomers_, pid, &Newcomer::pid);
    if (found == newcomers_.end()) continue;
    members_[pid] = {rank, found->stat.started, found->stat, {}, true};
    newcomers_.erase(found);
  }
}

// Descendants of members are members, even if the processes in between have ended.
void ProcessReader::Adopt() {
  for (bool more = true; more;) {
    more = false;
    for (Newcomer& newcomer : newcomers_) {
      const auto parent = members_.find(newcomer.stat.parent);
      if (newcomer.pid == 0 || parent == members_.end()) continue;
      const uint32_t rank = parent->second.rank;
      members_[newcomer.pid] = {rank, newcomer.stat.started, newcomer.stat, {}, true};
      newcomer.pid = 0;
      more = true;
    }
  }
  for (const Newcomer& newcomer : newcomers_) {
    if (newcomer.pid != 0) others_.push_back(newcomer.pid);
  }
  std::ranges::sort(others_);
}

void ProcessReader::ReadIo() {
  for (auto& [pid, member] : members_) {
    const auto io = ParseProcessIo(buffer_.ReadAt(dirfd(folder_.get()), PathOf(pid, "io").text));
    if (io) member.io = io;
  }
}

// Returns nanoseconds; the kernel may not count them.
std::optional<uint64_t> ProcessReader::AwaitedBy(pid_t pid) {
  std::string_view schedule = buffer_.ReadAt(dirfd(folder_.get()), PathOf(pid, "schedstat").text);
  TakeWord(schedule);
  return ParseNumber<uint64_t>(TakeWord(schedule));
}

void ProcessReader::Report(uint32_t rank, Total& total, SampleTime now, v1::RankSample& reading) {
  total.cpu = total.read = total.written = 0;
  uint64_t resident = 0;
  for (const auto& [pid, member] : members_) {
    if (member.rank != rank) continue;
    total.cpu += member.stat.cpu;
    if (member.io) {
      total.read += member.io->read;
      total.written += member.io->written;
    }
    resident += member.stat.resident;
    reading.set_processes(reading.processes() + 1);
    reading.set_threads(reading.threads() + member.stat.threads);
    if (pid == total.pid) reading.set_state(std::string(1, member.stat.state));
  }
  reading.set_rank(rank);
  reading.set_memory(resident * KernelUnits().page);
  if (const auto ticks = total.cpu_rate.Next(total.cpu, now)) {
    reading.set_cpu(*ticks / KernelUnits().ticks_per_second);
  }
  if (const auto awaited = AwaitedBy(total.pid)) {
    constexpr double kNanoseconds = 1e9;
    const auto rate = total.awaited_rate.Next(*awaited, now);
    if (rate) reading.set_cpu_awaited(std::min(*rate / kNanoseconds, 1.0));
  }
  if (!members_.at(total.pid).io) return;
  if (const auto bytes = total.read_rate.Next(total.read, now)) reading.set_read(*bytes);
  if (const auto bytes = total.written_rate.Next(total.written, now)) reading.set_written(*bytes);
}

void ProcessReader::Read(const std::map<uint32_t, pid_t>& ranks, SampleTime now,
                         v1::NodeSample& sample) {
  if (!folder_) return;
  LookAtAll(ranks);
  AddRanks(ranks);
  Adopt();
  ReadIo();
  for (auto& [rank, total] : totals_) {
    if (members_.contains(total.pid)) Report(rank, total, now, *sample.add_ranks());
  }
}

std::optional<uint64_t> CgroupReader::NumberIn(const std::string& path) {
  std::string_view text = buffer_.Read(path);
  std::string_view line = TakeLine(text);
  return ParseNumber<uint64_t>(TakeWord(line));
}

// Returns cores; 0: no limit.
double CgroupReader::CpuLimit(const process::CgroupFolder& of) {
  std::optional<uint64_t> quota;
  std::optional<uint64_t> period;
  if (of.version_2) {
    std::string_view text = buffer_.Read(of.path + "/cpu.max");
    std::string_view line = TakeLine(text);
    quota = ParseNumber<uint64_t>(TakeWord(line));
    period = ParseNumber<uint64_t>(TakeWord(line));
  } else {
    quota = NumberIn(of.path + "/cpu.cfs_quota_us");  // -1: no limit
    period = NumberIn(of.path + "/cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0) return 0;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

// Returns bytes; 0: no limit.
uint64_t CgroupReader::MemoryLimit(const process::CgroupFolder& of) {
  uint64_t least = kNoLimit;
  for (const char* file : {"/memory.high", "/memory.max", "/memory.limit_in_bytes"}) {
    if (of.version_2 == (std::string_view(file) == "/memory.limit_in_bytes")) continue;
    if (const auto bytes = NumberIn(of.path + file)) least = std::min(least, *bytes);
  }
  return least == kNoLimit ? 0 : least;
}

void CgroupReader::Update(Rank& rank) {
  const std::string groups(buffer_.Read(proc_folder_ + "/" + std::to_string(rank.pid) + "/cgroup"));
  std::optional<Cpu> cpu;
  for (const process::CgroupFolder& of : process::CgroupFoldersOf(groups, "cpu", mounts_)) {
    const double cores = CpuLimit(of);
    if (cores > 0 && (!cpu || cores < cpu->cores)) cpu = {of, cores, {}, {}};
  }
  std::optional<Memory> memory;
  for (const process::CgroupFolder& of : process::CgroupFoldersOf(groups, "memory", mounts_)) {
    const uint64_t bytes = MemoryLimit(of);
    if (bytes > 0 && (!memory || bytes < memory->bytes)) memory = {of, bytes, {}, {}};
  }
  // The counters of the same group continue.
  if (cpu && rank.cpu && cpu->of == rank.cpu->of) {
    rank.cpu->cores = cpu->cores;
  } else {
    rank.cpu = std::move(cpu);
  }
  if (memory && rank.memory && memory->of == rank.memory->of) {
    rank.memory->bytes = memory->bytes;
  } else {
    rank.memory = std::move(memory);
  }
}

void CgroupReader::TellCpu(Cpu& cpu, SampleTime now, v1::RankSample& reading) {
  reading.set_cpu_limit(cpu.cores);
  const std::string_view text = buffer_.Read(cpu.of.path + "/cpu.stat");
  const auto periods = cpu.periods.Next(SumOf(text, "nr_periods"), now);
  const auto throttled = cpu.throttled.Next(SumOf(text, "nr_throttled"), now);
  if (!periods || !throttled) return;
  // In an idle group no period begins.
  reading.set_cpu_throttled(*periods > 0 ? std::min(*throttled / *periods, 1.0) : 0);
}

void CgroupReader::TellMemory(Memory& memory, SampleTime now, v1::RankSample& reading) {
  const std::string& folder = memory.of.path;
  reading.set_memory_limit(memory.bytes);
  const auto used =
      NumberIn(folder + (memory.of.version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (used) reading.set_memory_charged(*used);
  const uint64_t hits = memory.of.version_2
                            ? SumOf(buffer_.Read(folder + "/memory.events"), "high", "max")
                            : NumberIn(folder + "/memory.failcnt").value_or(0);
  if (const auto rate = memory.hits.Next(hits, now)) reading.set_memory_hits(*rate);
  const uint64_t faults = SumOf(buffer_.Read(folder + "/memory.stat"), "pgmajfault");
  if (const auto rate = memory.faults.Next(faults, now)) reading.set_memory_faults(*rate);
  if (!memory.of.version_2) return;
  if (const auto share = ParsePressure(buffer_.Read(folder + "/memory.pressure"))) {
    reading.set_memory_stalled(*share);
  }
}

void CgroupReader::Read(const std::map<uint32_t, pid_t>& ranks, SampleTime now,
                        v1::NodeSample& sample) {
  std::erase_if(ranks_, [&](const auto& entry) { return !ranks.contains(entry.first); });
  for (v1::RankSample& reading : *sample.mutable_ranks()) {
    const auto running = ranks.find(reading.rank());
    if (running == ranks.end()) continue;
    Rank& rank = ranks_[reading.rank()];
    if (rank.pid != running->second) rank = {running->second, 0, {}, {}};
    if (rank.looks-- == 0) {
      Update(rank);
      rank.looks = kSamplesBetweenLooks - 1;
    }
    if (rank.cpu) TellCpu(*rank.cpu, now, reading);
    if (rank.memory) TellMemory(*rank.memory, now, reading);
  }
}

}  // namespace autodist::agent
