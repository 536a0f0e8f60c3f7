#include "agent/sample/cgroups.h"

#include <algorithm>
#include <utility>

#include "agent/sample/host.h"
#include "agent/sample/text.h"

namespace autodist::agent {
namespace {

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
