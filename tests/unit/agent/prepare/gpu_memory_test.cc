#include "agent/prepare/gpu_memory.h"

#include <gmock/gmock.h>

namespace autodist::agent {
namespace {

constexpr uint64_t kMebi = 1 << 20;

struct Process {
  const char* job;
  uint64_t mebibytes;  // 0: unknown
};

struct Row {
  const char* what;
  uint32_t gpu;
  uint64_t mebibytes;
  std::vector<Process> processes;
  const char* left;     // "": nothing
  uint64_t before = 0;  // mebibytes that could not be seen before the first attempt
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> kRows = {
      {"an idle GPU", 0, 4, {}, ""},
      {"a process that is still ending",
       0,
       4096,
       {{"ours", 3000}},
       "GPU 0 still has 4096 MiB in use, of python3 (pid 7, of ann)"},
      {"a process has ended, and the driver still frees its memory",
       0,
       103'016,
       {},
       "GPU 0 still has 103016 MiB in use, of no process that can be seen on the node"},
      {"a process outside the job", 0, 3004, {{"", 3000}}, ""},
      {"a process outside the job, and memory of ours",
       0,
       6144,
       {{"other", 3000}},
       "GPU 0 still has 3144 MiB in use, of no process that can be seen on the node"},
      {"a process outside the job, whose memory is unknown", 0, 6144, {{"", 0}}, ""},
      {"a GPU of another job", 1, 103'016, {}, ""},
      {"what a container that cannot be seen had before", 0, 20'000, {}, "", 20'000},
      {"what such a container freed meanwhile", 0, 4, {}, "", 20'000},
      {"what such a container had, and memory of ours",
       0,
       23'000,
       {{"other", 1000}},
       "GPU 0 still has 2000 MiB in use, of no process that can be seen on the node",
       20'000},
      {"a process of ours, where a container had memory",
       0,
       23'000,
       {{"ours", 3000}},
       "GPU 0 still has 23000 MiB in use, of python3 (pid 7, of ann)",
       20'000},
  };
  return kRows;
}

v1::GpuFact FactOf(const Row& row) {
  v1::GpuFact gpu;
  gpu.set_index(row.gpu);
  gpu.set_memory_used(row.mebibytes * kMebi);
  for (const Process& one : row.processes) {
    v1::GpuProcess& process = *gpu.add_processes();
    process.set_pid(7);
    process.set_name("python3");
    process.set_user("ann");
    process.set_job_id(one.job);
    process.set_memory_used(one.mebibytes * kMebi);
  }
  return gpu;
}

v1::NodePlan OneGpu(const std::string& uuid = "") {
  v1::NodePlan node;
  v1::Device& device = *node.add_devices();
  device.set_kind(v1::DEVICE_KIND_GPU);
  device.set_uuid(uuid);
  return node;
}

TEST(GpuMemoryTest, OnlyWhatThePreviousAttemptHasLeftCounts) {
  for (const Row& row : Rows()) {
    v1::NodeInfo gpus;
    *gpus.add_gpus() = FactOf(row);
    const auto left = MemoryLeft(OneGpu(), gpus, "ours", {{0, row.before * kMebi}});
    EXPECT_EQ(left.empty() ? "" : left[0], row.left) << row.what;
  }
}

TEST(GpuMemoryTest, AGpuMayBeNamedByItsUuid) {
  v1::NodeInfo gpus;
  for (const uint32_t index : {0u, 5u}) {
    v1::GpuFact& gpu = *gpus.add_gpus();
    gpu.set_index(index);
    gpu.set_uuid("GPU-" + std::to_string(index));
    gpu.set_memory_used(4096 * kMebi);
  }
  EXPECT_THAT(MemoryLeft(OneGpu("GPU-5"), gpus, "ours", {{0, 0}, {5, 0}}),
              testing::ElementsAre(testing::StartsWith("GPU 5 still has 4096 MiB")));
}

TEST(GpuMemoryTest, MemoryCountsOnlyIfItIsKnownWhatWasInUseBefore) {
  v1::NodeInfo gpus;
  *gpus.add_gpus() = FactOf({"", 0, 4096, {}, ""});
  EXPECT_THAT(MemoryLeft(OneGpu(), gpus, "ours", {}), testing::IsEmpty());
  EXPECT_EQ(UnseenOf(gpus), (UnseenMemory{{0, 4096 * kMebi}}));
  *gpus.mutable_gpus(0) = FactOf({"", 0, 4096, {{"other", 0}}, ""});
  EXPECT_EQ(UnseenOf(gpus), UnseenMemory());
  *gpus.mutable_gpus(0) = FactOf({"", 0, 4096, {{"other", 96}}, ""});
  EXPECT_EQ(UnseenOf(gpus), (UnseenMemory{{0, 4000 * kMebi}}));
}

}  // namespace
}  // namespace autodist::agent
