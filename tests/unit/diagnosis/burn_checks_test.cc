#include "diagnosis/burn_checks.h"

#include <gtest/gtest.h>

#include <vector>

namespace autodist::diagnosis {
namespace {

struct Device {
  double matrix;  // TFLOP/s
  double memory;  // TB/s
  uint64_t wrong = 0;
  const char* name = "NVIDIA H200";
};

// A node for each device.
v1::Diagnosis Of(const std::vector<Device>& devices) {
  v1::Diagnosis diagnosis;
  for (const Device& one : devices) {
    v1::CheckOutcome& check = *diagnosis.add_nodes()->add_checks();
    check.set_check(v1::CHECK_HEALTH);
    check.set_result(v1::CHECK_RESULT_GOOD);
    v1::BurnedDevice& device = *diagnosis.add_burned();
    device.set_node(static_cast<uint32_t>(diagnosis.nodes_size() - 1));
    device.set_name("GPU 3");
    device.mutable_result()->set_device(one.name);
    device.mutable_result()->set_wrong(one.wrong);
    for (const auto& [work, rate] : {std::pair{v1::BURN_WORK_MATRIX, one.matrix * 1e12},
                                     std::pair{v1::BURN_WORK_MEMORY, one.memory * 1e12}}) {
      v1::BurnRate& added = *device.mutable_result()->add_rates();
      added.set_work(work);
      added.set_rate(rate);
    }
  }
  JudgeBurn(diagnosis);
  return diagnosis;
}

// CPUs of these rates, in GFLOP/s.
v1::Diagnosis OfCpus(const std::vector<double>& rates) {
  v1::Diagnosis diagnosis;
  for (const double one : rates) {
    diagnosis.add_nodes();
    v1::BurnedDevice& device = *diagnosis.add_burned();
    device.set_node(static_cast<uint32_t>(diagnosis.nodes_size() - 1));
    device.mutable_result()->set_device("a CPU");
    for (const auto& [work, rate] :
         {std::pair{v1::BURN_WORK_MATRIX, one}, std::pair{v1::BURN_WORK_HOST_MEMORY, 10.0}}) {
      v1::BurnRate& added = *device.mutable_result()->add_rates();
      added.set_work(work);
      added.set_rate(rate);
    }
  }
  JudgeBurn(diagnosis);
  return diagnosis;
}

v1::CheckResult HealthOf(const v1::Diagnosis& diagnosis, int node) {
  return diagnosis.nodes(node).checks(0).result();
}

TEST(BurnChecksTest, NothingIsFoundOnEqualDevices) {
  EXPECT_EQ(Of({{649, 4.26}, {641, 4.25}, {660, 4.2}, {645, 4.3}}).issues_size(), 0);
  EXPECT_EQ(Of({{649, 4.26}}).issues_size(), 0);
  EXPECT_EQ(Of({}).issues_size(), 0);
}

TEST(BurnChecksTest, ADeviceAtNineTenthsIsSlow) {
  const v1::Diagnosis diagnosis = Of({{649, 4.26}, {584, 4.26}, {649, 3.4}, {649, 4.26}});
  ASSERT_EQ(diagnosis.issues_size(), 2);
  EXPECT_EQ(diagnosis.issues(0).what(),
            "GPU 3 is slower than others like it: matrix products 584 of 649 TFLOP/s (90 %)");
  EXPECT_EQ(diagnosis.issues(0).nodes(0), 1u);
  EXPECT_EQ(diagnosis.issues(1).what(),
            "GPU 3 is slower than others like it: memory 3.40 of 4.26 TB/s (80 %)");
  EXPECT_EQ(HealthOf(diagnosis, 0), v1::CHECK_RESULT_GOOD);
  EXPECT_EQ(HealthOf(diagnosis, 1), v1::CHECK_RESULT_WARNING);
}

TEST(BurnChecksTest, CpusOfMachinesThatOthersShareDifferMore) {
  EXPECT_EQ(OfCpus({10, 9.3, 10, 10, 10, 9.4, 10, 10}).issues_size(), 0);
  EXPECT_EQ(OfCpus({10, 9.0, 10, 10, 10, 9.4, 10, 10}).issues_size(), 1);
  EXPECT_EQ(OfCpus({10, 9.0, 10, 10, 10, 9.0, 10, 10}).issues_size(), 2);
  EXPECT_EQ(OfCpus({10, 6, 10, 6, 10, 6, 10, 6}).issues_size(), 0);  // two kinds of machines
  EXPECT_EQ(OfCpus({10, 9.0}).issues_size(), 1);
}

TEST(BurnChecksTest, TheSlowerOfTwoIsSlow) {
  const v1::Diagnosis diagnosis = Of({{649, 4.26}, {584, 4.26}});
  ASSERT_EQ(diagnosis.issues_size(), 1);
  EXPECT_EQ(diagnosis.issues(0).nodes(0), 1u);
}

TEST(BurnChecksTest, DevicesOfAnotherNameAreNotCompared) {
  EXPECT_EQ(Of({{649, 4.26}, {300, 2.0, 0, "NVIDIA A100"}}).issues_size(), 0);
}

TEST(BurnChecksTest, WrongNumbersAreAnError) {
  const v1::Diagnosis diagnosis = Of({{649, 4.26}, {584, 4.26}, {649, 4.26, 12}});
  ASSERT_EQ(diagnosis.issues_size(), 2);
  EXPECT_EQ(diagnosis.issues(0).what(), "GPU 3 computed 12 wrong numbers");
  EXPECT_EQ(HealthOf(diagnosis, 2), v1::CHECK_RESULT_BAD);
}

TEST(BurnChecksTest, EachKindOfDeviceHasALine) {
  EXPECT_EQ(BurnAsText(Of({{649, 4.26}, {641, 4.26}, {30, 0.5, 0, "NVIDIA T4"}})),
            "2 devices (NVIDIA H200): matrix products 641 to 649 TFLOP/s, memory 4.26 TB/s\n"
            "1 device (NVIDIA T4): matrix products 30.0 TFLOP/s, memory 500 GB/s\n");
  EXPECT_EQ(BurnAsText(Of({})), "");
}

}  // namespace
}  // namespace autodist::diagnosis
