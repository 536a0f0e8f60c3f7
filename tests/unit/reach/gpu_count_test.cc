#include "reach/gpu_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::reach {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr char kLost[] =
    "Unable to determine the device handle for GPU1: 0000:41:00.0: Unknown Error";
constexpr char kNoDriver[] =
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running.";

TEST(CountGpusTest, CountsWhatTheMachineLists) {
  struct Case {
    GpuSigns signs;
    uint32_t gpus;
  };
  const Case cases[] = {
      {{0, 0, false}, 0},
      {{8, 0, false}, 8},
      {{0, 2, false}, 2},
      {{0, 0, false, 0, "GPU 0: A\n  MIG 1g: (UUID: MIG-1)\nGPU 1: B\n"}, 2},
      {{0, 3, false, 0, "GPU 0: A\n"}, 1},
      {{0, 3, false, 0, ""}, 3},
      {{0, 0, true, 0, "No devices found.\n"}, 0},
      // The tools alone, on a machine without a GPU.
      {{0, 0, false, 6, "No devices were found\n"}, 0},
      {{0, 0, false, 9, kNoDriver}, 0},
      {{0, 0, false, 12, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system."}, 0},
  };
  for (const Case& one : cases) {
    const auto count = CountGpus(one.signs, seconds(5));
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(*count, one.gpus) << one.signs.printed;
  }
}

TEST(CountGpusTest, GpusThatCannotBeCountedAreNotMissing) {
  struct Case {
    GpuSigns signs;
    std::string why, hint;
  };
  const std::string fails = "nvidia-smi -L fails: ";
  const Case cases[] = {
      {{0, 2, false, 18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: "
        "550.144\n"},
       fails + "Failed to initialize NVML: Driver/library version mismatch",
       "restart the node"},
      {{0, 0, false, 255, kLost}, fails + kLost, "restart the node"},
      {{0, 0, false, 0, std::string("GPU 0: A\n") + kLost + "\n"},
       fails + kLost,
       "restart the node"},
      {{0, 0, true, 6, "No devices were found\n"},
       fails + "No devices were found",
       "restart the node"},
      {{0, 0, true, 9, kNoDriver}, fails + "NVIDIA-SMI has failed", "load the driver"},
      {{0, 0, false, 1, "Failed to initialize NVML: Insufficient Permissions"},
       fails + "Failed to initialize NVML: Insufficient Permissions",
       "run it on the node"},
      {{0, 2, false, 255, "Failed to initialize NVML: Unknown Error"},
       fails + "Failed to initialize NVML: Unknown Error",
       "in a container, start it again"},
      {{0, 0, false, 3, ""}, fails + "exit code 3", "run it on the node"},
      {{0, 0, false, 1, "\x1b[31mno\xff"}, fails + "\\x1b[31mno\\xff", ""},
      {{0, 2, false, GpuSigns::kTimedOut, ""},
       "nvidia-smi -L did not answer within 5 s",
       "--start-timeout"},
      {{0, 0, false, 137, "GPU 0: A\n"}, "did not answer", "--start-timeout"},
  };
  for (const Case& one : cases) {
    const auto count = CountGpus(one.signs, seconds(5));
    ASSERT_FALSE(count.ok()) << one.why;
    EXPECT_EQ(count.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(count.status()), HasSubstr(one.why));
    EXPECT_THAT(Remedy(count.status()), HasSubstr(one.hint));
  }
}

TEST(CountGpusTest, ALongMessageIsCut) {
  const auto count = CountGpus({0, 0, false, 1, std::string(5000, 'x')}, seconds(5));
  EXPECT_LT(Message(count.status()).size(), 300u);
}

TEST(ListingLimitTest, LeavesTimeForTheLogin) {
  EXPECT_EQ(ListingLimit(milliseconds(60'000)), seconds(45));
  EXPECT_EQ(ListingLimit(milliseconds(500)), seconds(1));
}

}  // namespace
}  // namespace autodist::reach
