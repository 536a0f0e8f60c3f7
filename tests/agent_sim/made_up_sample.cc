#include "agent_sim/made_up_sample.h"

#include "base/wall_clock.h"

namespace autodist::test {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Returns a varying number from 0 to 1.
double Share(uint32_t number, uint32_t of) { return ((number * 37 + of * 11) % 100) / 100.0; }

void FillHost(uint32_t number, v1::HostSample& host) {
  host.set_cpu(Share(number, 1));
  host.set_cores(192);
  host.set_memory_used(200 * kGiB);
  host.set_memory_total(2000 * kGiB);
  host.set_cpu_pressure(0);
  host.set_memory_pressure(0);
  host.set_io_pressure(0.01);
  host.set_disk_read(1e6);
  host.set_disk_write(2e6);
  host.set_disk_free(500 * kGiB);
  host.set_disk_total(1000 * kGiB);
}

void FillGpu(uint32_t index, uint32_t number, v1::GpuSample& gpu) {
  gpu.set_index(index);
  gpu.set_uuid("GPU-5ab1c7d8-0000-4000-8000-00000000000" + std::to_string(index));
  gpu.set_use(Share(number, index));
  gpu.set_memory_used(60 * kGiB);
  gpu.set_memory_total(80 * kGiB);
  gpu.set_power(500 + 100 * Share(number, index));
  gpu.set_power_limit(700);
  gpu.set_temperature(60);
  gpu.set_clock(1950);
  gpu.set_clock_limit(1980);
  gpu.set_ecc_errors(0);
}

void FillRank(uint32_t number, v1::RankSample& rank) {
  rank.set_cpu(1 + Share(number, rank.rank()));
  rank.set_memory(20 * kGiB);
  rank.set_processes(9);
  rank.set_threads(90);
  rank.set_state("R");
  rank.set_read(1e6);
  rank.set_written(1e3);
  rank.set_silent_ms(500);
}

}  // namespace

v1::NodeSample MadeUpSample(const std::set<uint32_t>& ranks, uint32_t number) {
  v1::NodeSample sample;
  sample.set_time_ns(base::NanosecondsSince1970());
  FillHost(number, *sample.mutable_host());
  for (const char* name : {"eth0", "eth1"}) {
    v1::InterfaceSample& interface = *sample.add_interfaces();
    interface.set_name(name);
    interface.set_received(8e9 * Share(number, 2));
    interface.set_sent(8e9 * Share(number, 3));
  }
  uint32_t index = 0;
  for (const uint32_t rank : ranks) {
    FillGpu(index++, number, *sample.add_gpus());
    v1::RankSample& of = *sample.add_ranks();
    of.set_rank(rank);
    FillRank(number, of);
  }
  return sample;
}

}  // namespace autodist::test
