#include "agent/sample/gpu_errors.h"

#include <gtest/gtest.h>

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

TEST(GpuErrorFilterTest, AnErrorNamesTheGpuAsNvidiaSmiDoes) {
  GpuErrorFilter filter({"0000:5d:00.0", "0000:3b:00.0", "0001:01:00.0"});
  const auto errors =
      ErrorsIn(filter, {"NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
                        "something else", "NVRM: Xid (PCI:0002:01:00): 63, Row Remapper: pending"});
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].gpu(), 1u);
  EXPECT_EQ(errors[0].xid(), 79u);
  EXPECT_TRUE(errors[0].needs_repair());
  EXPECT_FALSE(errors[1].has_gpu());
  EXPECT_EQ(errors[1].address(), "0002:01:00");
  EXPECT_FALSE(errors[1].needs_repair());
}

TEST(GpuErrorFilterTest, TheLinesOfAnErrorAreOneError) {
  GpuErrorFilter filter({"0000:00:06.0"});
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
  GpuErrorFilter filter({});
  EXPECT_TRUE(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 31, pid=4711, name=x"}).empty());
  EXPECT_EQ(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 31, pid=4712, name=x"}).size(), 1u);
  EXPECT_EQ(ErrorsIn(filter, {"NVRM: Xid (PCI:0000:00:06): 79, pid=4711, name=x"}).size(), 1u);
}

}  // namespace
}  // namespace autodist::agent
