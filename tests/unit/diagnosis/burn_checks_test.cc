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
  JudgeDevices(diagnosis);
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
  JudgeDevices(diagnosis);
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

TEST(BurnChecksTest, CpusAreComparedWithTheSpreadOfTheOthers) {
  EXPECT_EQ(OfCpus({10, 8.8, 10, 10, 10, 9.4, 10, 10}).issues_size(), 0);
  EXPECT_EQ(OfCpus({10, 8.4, 10, 10, 10, 9.4, 10, 10}).issues_size(), 1);
  EXPECT_EQ(OfCpus({10, 8.4, 10, 10, 10, 8.4, 10, 10}).issues_size(), 2);
  EXPECT_EQ(OfCpus({10, 8.4, 10.1, 9.9, 10, 10.1, 9.9, 10}).issues_size(), 1);
  // Measured: equal virtual hosts on two cores, whose speed changes.
  EXPECT_EQ(OfCpus({7.11, 8.08, 7.71, 7.54, 7.23, 7.73, 6.96, 7.86}).issues_size(), 0);
  EXPECT_EQ(OfCpus({10.9, 11.92, 9.73, 12.39, 11.97, 12.3, 10.05, 11}).issues_size(), 0);
  EXPECT_EQ(OfCpus({11.4, 12.5, 12.5, 12.4, 12.5, 11.1, 12.6, 12.5}).issues_size(), 0);
  EXPECT_EQ(OfCpus({10, 6, 10, 6, 10, 6, 10, 6}).issues_size(), 0);  // two kinds of machines
  EXPECT_EQ(OfCpus({10, 8.4}).issues_size(), 0);                     // one of them
}

TEST(BurnChecksTest, ACpuThatIsStoppedIsNamed) {
  v1::Diagnosis diagnosis = OfCpus({10, 10, 10, 10});
  diagnosis.mutable_burned(0)->mutable_result()->set_stopped(0.04);
  diagnosis.mutable_burned(2)->mutable_result()->set_stopped(0.0985);
  diagnosis.mutable_burned(2)->set_name("CPU 0");
  JudgeDevices(diagnosis);
  ASSERT_EQ(diagnosis.issues_size(), 1);
  EXPECT_EQ(diagnosis.issues(0).nodes(0), 2u);
  EXPECT_EQ(diagnosis.issues(0).what(), "CPU 0 could not run for 9.9 % of the time");
}

TEST(BurnChecksTest, LinksBetweenDevicesAreComparedAtTheSamePosition) {
  v1::Diagnosis diagnosis;
  for (uint32_t node = 0; node < 3; ++node) {
    diagnosis.add_nodes();
    for (const char* name : {"GPU 0", "GPU 1"}) {
      v1::BurnedDevice& device = *diagnosis.add_burned();
      device.set_node(node);
      device.set_name(name);
      device.mutable_result()->set_device("NVIDIA A100");
      v1::BurnRate& rate = *device.mutable_result()->add_rates();
      rate.set_work(v1::BURN_WORK_BETWEEN_DEVICES);
      const bool far = name == std::string("GPU 1");
      rate.set_rate((far ? 2e10 : 4e10) * (far && node == 1 ? 0.8 : 1));
    }
  }
  JudgeDevices(diagnosis);
  ASSERT_EQ(diagnosis.issues_size(), 1);
  EXPECT_EQ(diagnosis.issues(0).what(),
            "GPU 1 is slower than others like it: copies to the next GPU 16.0 of 20.0 GB/s (80 %)");
  EXPECT_EQ(DevicesAsText(diagnosis),
            "6 devices (NVIDIA A100): copies to the next GPU 16.0 to 40.0 GB/s\n");
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
  EXPECT_EQ(DevicesAsText(Of({{649, 4.26}, {641, 4.26}, {30, 0.5, 0, "NVIDIA T4"}})),
            "2 devices (NVIDIA H200): matrix products 641 to 649 TFLOP/s, memory 4.26 TB/s\n"
            "1 device (NVIDIA T4): matrix products 30.0 TFLOP/s, memory 500 GB/s\n");
  EXPECT_EQ(DevicesAsText(Of({})), "");
}

}  // namespace
}  // namespace autodist::diagnosis
