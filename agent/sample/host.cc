#include "agent/sample/host.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/thread.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kKibi = 1024;
constexpr uint64_t kSector = 512;  // independent of the disk's sectors
constexpr size_t kMaxNames = 10'000;

// Parses "MemTotal:       16384 kB"; returns bytes.
std::optional<uint64_t> MemoryLine(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(name.size());
  const auto kibibytes = ParseNumber<uint64_t>(TakeWord(line));
  return kibibytes ? std::optional(*kibibytes * kKibi) : std::nullopt;
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice", then each CPU's. user
// includes guest; steal is not counted.
std::optional<CpuTimes> ParseCpuTimes(std::string_view stat) {
  std::string_view all = TakeLine(stat);
  if (TakeWord(all) != "cpu") return std::nullopt;
  CpuTimes times;
  for (const auto& is_busy : {true, true, true, false, false, true, true, false}) {
    const auto ticks = TakeNumber<uint64_t>(all);
    times.total += ticks;
    if (is_busy) times.busy += ticks;
  }
  while (TakeLine(stat).starts_with("cpu")) ++times.cores;
  return times;
}

std::optional<MemoryUse> ParseMemory(std::string_view meminfo) {
  std::optional<uint64_t> total;
  std::optional<uint64_t> available;
  while (!meminfo.empty() && !(total && available)) {
    const std::string_view line = TakeLine(meminfo);
    if (!total) total = MemoryLine(line, "MemTotal:");
    if (!available) available = MemoryLine(line, "MemAvailable:");
  }
  if (!total || !available) return std::nullopt;
  return MemoryUse{*total - std::min(*total, *available), *total};
}

// "some avg10=1.53 avg60=0.87 avg300=0.16 total=..."
std::optional<double> ParsePressure(std::string_view pressure) {
  constexpr std::string_view kAverage = "avg10=";
  std::string_view line = TakeLine(pressure);
  if (TakeWord(line) != "some") return std::nullopt;
  const std::string_view average = TakeWord(line);
  if (!average.starts_with(kAverage)) return std::nullopt;
  const auto percent = ParseNumber<double>(average.substr(kAverage.size()));
  return percent ? std::optional(std::clamp(*percent / 100, 0.0, 1.0)) : std::nullopt;
}

// "259 0 nvme0n1 reads merged sectors ms writes merged sectors ms ..."
DiskBytes ParseDisks(std::string_view diskstats,
                     const std::function<bool(std::string_view name)>& counts) {
  DiskBytes bytes;
  while (!diskstats.empty()) {
    std::string_view line = TakeLine(diskstats);
    SkipWords(line, 2);
    const std::string_view name = TakeWord(line);
    if (name.empty() || !counts(name)) continue;
    SkipWords(line, 2);
    bytes.read += TakeNumber<uint64_t>(line) * kSector;
    SkipWords(line, 3);
    bytes.written += TakeNumber<uint64_t>(line) * kSector;
    ++bytes.disks;
  }
  return bytes;
}

HostReader::HostReader(const std::string& proc_folder, const std::string& sys_folder)
    : block_folder_(sys_folder + "/block/"),
      stat_(proc_folder + "/stat"),
      meminfo_(proc_folder + "/meminfo"),
      cpu_pressure_(proc_folder + "/pressure/cpu"),
      memory_pressure_(proc_folder + "/pressure/memory"),
      io_pressure_(proc_folder + "/pressure/io"),
      diskstats_(proc_folder + "/diskstats") {}

// Partitions have no folder in /sys/block. Stacked devices would count bytes twice, and they and
// virtual devices have no `device` link.
bool HostReader::IsDisk(std::string_view name) {
  const auto known = is_disk_.find(name);
  if (known != is_disk_.end()) return known->second;
  const bool is_disk = access((block_folder_ + std::string(name) + "/device").c_str(), F_OK) == 0;
  if (is_disk_.size() >= kMaxNames) is_disk_.clear();
  is_disk_.emplace(name, is_disk);
  return is_disk;
}

void HostReader::ReadCpu(v1::HostSample& host) {
  const std::optional<CpuTimes> times = ParseCpuTimes(stat_.Read(buffer_));
  if (!times) return;
  host.set_cores(times->cores);
  // The kernel may decrease the idle time of single CPUs.
  if (cpu_before_ && times->total > cpu_before_->total && times->busy >= cpu_before_->busy) {
    const auto busy = static_cast<double>(times->busy - cpu_before_->busy);
    const auto total = static_cast<double>(times->total - cpu_before_->total);
    host.set_cpu(std::min(busy / total, 1.0));
  }
  cpu_before_ = times;
}

void HostReader::ReadDisks(v1::HostSample& host, SampleTime now) {
  const DiskBytes bytes =
      ParseDisks(diskstats_.Read(buffer_), [this](std::string_view name) { return IsDisk(name); });
  if (bytes.disks == 0) return;
  if (const auto rate = disk_read_.Next(bytes.read, now)) host.set_disk_read(*rate);
  if (const auto rate = disk_write_.Next(bytes.written, now)) host.set_disk_write(*rate);
}

v1::HostSample HostReader::Read(SampleTime now) {
  v1::HostSample host;
  ReadCpu(host);
  if (const auto memory = ParseMemory(meminfo_.Read(buffer_))) {
    host.set_memory_used(memory->used);
    host.set_memory_total(memory->total);
  }
  if (const auto share = ParsePressure(cpu_pressure_.Read(buffer_))) host.set_cpu_pressure(*share);
  if (const auto share = ParsePressure(memory_pressure_.Read(buffer_))) {
    host.set_memory_pressure(*share);
  }
  if (const auto share = ParsePressure(io_pressure_.Read(buffer_))) host.set_io_pressure(*share);
  ReadDisks(host, now);
  return host;
}

DiskSpace::DiskSpace(std::string folder) {
  auto thread =
      base::StartThread([shared = shared_, folder = std::move(folder)] { Ask(shared, folder); });
  if (thread.ok()) thread->detach();
}

DiskSpace::~DiskSpace() {
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

std::optional<DiskSpace::Space> DiskSpace::Last() {
  const std::lock_guard lock(shared_->mutex);
  if (std::exchange(shared_->asked, true)) return std::nullopt;
  shared_->changed.notify_all();
  return shared_->space;
}

void DiskSpace::Ask(const std::shared_ptr<Shared>& shared, const std::string& folder) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->asked || shared->over; });
    if (shared->over) return;
    lock.unlock();
    struct statvfs info {};
    const bool known = statvfs(folder.c_str(), &info) == 0 && info.f_blocks > 0;
    lock.lock();
    shared->space.reset();
    if (known) {
      shared->space = {uint64_t{info.f_bavail} * info.f_frsize,
                       uint64_t{info.f_blocks} * info.f_frsize};
    }
    shared->asked = false;
  }
}

}  // namespace autodist::agent
