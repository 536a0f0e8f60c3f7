#include "agent/sample/gpu_errors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

constexpr pid_t kOfAnotherJob = 4711;

std::vector<v1::GpuError> ErrorsIn(GpuErrorFilter& filter, const std::vector<const char*>& log) {
  std::vector<v1::GpuError> errors;
  for (const char* line : log) {
    filter.Take(
        line, [](pid_t pid) { return pid == kOfAnotherJob; }, errors);
  }
  return errors;
}

std::vector<health::PciPlace> Places(const std::vector<const char*>& addresses) {
  std::vector<health::PciPlace> places;
  for (const char* address : addresses) places.push_back(*health::ParsePciPlace(address));
  return places;
}

TEST(GpuErrorFilterTest, AnErrorNamesTheGpuAsNvidiaSmiDoes) {
  GpuErrorFilter filter(Places({"0000:3b:00.0", "0000:5d:00.0", "0001:01:00.0"}));
  const auto errors =
      ErrorsIn(filter, {"NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
                        "something else", "NVRM: Xid (PCI:0001:01:00): 63, Row Remapper: pending"});
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].gpu(), 1u);
  EXPECT_EQ(errors[0].xid(), 79u);
  EXPECT_TRUE(errors[0].needs_repair());
  EXPECT_EQ(errors[1].gpu(), 2u);
  EXPECT_EQ(errors[1].address(), "0001:01:00");
  EXPECT_FALSE(errors[1].needs_repair());
}

TEST(GpuErrorFilterTest, TheLinesOfAnErrorAreOneError) {
  GpuErrorFilter filter(Places({"0000:00:06.0"}));
  const std::vector<const char*> log = {
      "NVRM: Xid (PCI:0000:00:06): 13, Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): "
      "Misaligned Address",
      "NVRM: Xid (PCI:0000:00:06): 13, Graphics Exception: ESR 0x517730=0xf 0x517734=0x0",
      "NVRM: Xid (PCI:0000:00:06): 13, pid=5813, name=python3, Graphics Exception: channel "
      "0x0000000a"};
  const auto errors = ErrorsIn(filter, log);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].unit(), "GPC 1, TPC 2, SM 0");
  EXPECT_TRUE(ErrorsIn(filter, log).empty());
  filter.Clear();
  EXPECT_EQ(ErrorsIn(filter, log).size(), 1u);
}

TEST(GpuErrorFilterTest, ErrorsOfOtherProgramsAreLeftOut) {
  GpuErrorFilter filter(Places({"0000:00:06.0"}));
  EXPECT_TRUE(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 31, pid=4711, name=x"}).empty());
  EXPECT_EQ(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 31, pid=4712, name=x"}).size(), 1u);
  EXPECT_EQ(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 79, pid=4711, name=x"}).size(), 1u);
}

TEST(GpuErrorFilterTest, GpusThatTheDriverLacksHaveNoErrors) {
  GpuErrorFilter filter(Places({"0000:00:06.0"}));
  EXPECT_TRUE(
      ErrorsIn(filter, {"NVRM: Xid (PCI:0002:01:00): 79, GPU has fallen off the bus."}).empty());
  GpuErrorFilter none({});
  EXPECT_TRUE(
      ErrorsIn(none, {"NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus."}).empty());
}

class GpuErrorsTest : public testing::Test {
 protected:
  GpuErrorsTest() {
    std::filesystem::create_directories(folder_.path() + "/proc/driver/nvidia/gpus/0000:3b:00.0");
  }
  void Log(const std::string& text) {
    std::ofstream(log_, std::ios::app) << "4,1,1,-;NVRM: Xid (PCI:0000:3b:00): " << text << "\n";
  }
  static std::vector<uint32_t> Numbers(const std::vector<v1::GpuError>& errors) {
    std::vector<uint32_t> numbers;
    for (const v1::GpuError& error : errors) numbers.push_back(error.xid());
    return numbers;
  }

  const test::TempFolder folder_;
  const std::string log_ = folder_.Write("kmsg", "4,1,1,-;NVRM: Xid (PCI:0000:3b:00): 62, x\n");
};

TEST_F(GpuErrorsTest, WhatWasLoggedAfterTheLastRanksEndIsReportedAfterTheNext) {
  GpuErrors errors(log_.c_str(), folder_.path());
  errors.RankStarted(1);
  Log("63, x");
  EXPECT_EQ(Numbers(errors.RankEnded(1)), std::vector{63u});
  Log("79, GPU has fallen off the bus.");
  errors.RankStarted(2);
  errors.RankStarted(3);
  EXPECT_EQ(Numbers(errors.RankEnded(2)), std::vector{79u});
  EXPECT_TRUE(errors.RankEnded(3).empty());
  Log("13, x");  // of a program, which has ended
  errors.RankStarted(4);
  EXPECT_TRUE(errors.RankEnded(4).empty());
}

}  // namespace
}  // namespace autodist::agent
