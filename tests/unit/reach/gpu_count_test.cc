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
constexpr char kNoLibrary[] = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.";

TEST(CountGpusTest, CountsWhatTheMachineLists) {
  struct Case {
    GpuSigns signs;
    uint32_t gpus;
    std::string message = {};
  };
  const std::string bad_inforom = "WARNING: infoROM is corrupted at gpu 0000:41:00.0";
  const Case cases[] = {
      {{0, 0, false, false}, 0},
      {{8, 0, false, false}, 8},
      {{0, 2, false, false}, 2},
      {{0, 0, false, false, 0, "GPU 0: A\n  MIG 1g: (UUID: MIG-1)\nGPU 1: B\n"}, 2},
      {{0, 0, true, false, 14, "GPU 0: A\nGPU 1: B\n\n" + bad_inforom + "\n"}, 2, bad_inforom},
      {{0, 2, true, false}, 2},  // a container with the device files alone
      {{0, 1, false, true}, 1},
      {{0, 3, false, false, 0, "GPU 0: A\n"}, 1},
      {{0, 3, false, false, 0, ""}, 3},
      {{0, 0, true, false, 0, "No devices found.\n"}, 0, "No devices found."},
      // The tools alone, on a machine without a GPU.
      {{0, 0, false, false, 6, "No devices were found\n"}, 0, "No devices were found"},
      {{0, 0, false, false, 9, kNoDriver}, 0, kNoDriver},
      {{0, 0, false, false, 12, kNoLibrary}, 0, kNoLibrary},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(CountGpus(one.signs, seconds(5)), (GpuCount{one.gpus, one.message}))
        << one.signs.printed;
  }
}

TEST(CountGpusTest, GpusThatCannotBeCountedAreNotMissing) {
  struct Case {
    GpuSigns signs;
    std::string why, hint;
  };
  const std::string fails = "nvidia-smi -L fails: ";
  const Case cases[] = {
      {{0, 2, false, false, 18,
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: "
        "550.144\n"},
       fails + "Failed to initialize NVML: Driver/library version mismatch",
       "restart the node"},
      {{0, 0, false, false, 255, kLost}, fails + kLost, "restart the node"},
      {{0, 0, false, false, 0, std::string("GPU 0: A\n") + kLost + "\n"},
       fails + kLost,
       "restart the node"},
      {{0, 0, true, false, 6, "No devices were found\n"},
       fails + "No devices were found",
       "restart the node"},
      {{0, 0, true, false, 9, kNoDriver}, fails + "NVIDIA-SMI has failed", "load the driver"},
      {{0, 0, false, false, 1, "Failed to initialize NVML: Insufficient Permissions"},
       fails + "Failed to initialize NVML: Insufficient Permissions",
       "run it on the node"},
      {{0, 2, false, false, 255, "Failed to initialize NVML: Unknown Error"},
       fails + "Failed to initialize NVML: Unknown Error",
       "in a container, start it again"},
      {{0, 0, true, false, 14, ""}, fails + "exit code 14", "run it on the node"},
      {{0, 0, false, false, 3, ""}, fails + "exit code 3", "run it on the node"},
      {{0, 0, false, false, 1, "\x1b[31mno\xff"}, fails + "\\x1b[31mno\\xff", ""},
      {{0, 2, false, false, GpuSigns::kTimedOut, ""},
       "nvidia-smi -L did not answer within 5 s",
       "--start-timeout"},
      {{0, 0, false, false, 137, "GPU 0: A\n"}, "did not answer", "--start-timeout"},
  };
  for (const Case& one : cases) {
    const GpuCount count = CountGpus(one.signs, seconds(5));
    EXPECT_EQ(count.uncounted, Uncounted::kFails) << one.why;
    EXPECT_THAT(Message(count.why), HasSubstr(one.why));
    EXPECT_THAT(Remedy(count.why), HasSubstr(one.hint));
  }
}

TEST(CountGpusTest, GpusWithoutADriverAndThoseOfOtherMakers) {
  const GpuCount unloaded = CountGpus({0, 0, true, true}, seconds(5));
  EXPECT_EQ(unloaded.uncounted, Uncounted::kNoDriver);
  EXPECT_EQ(Message(unloaded.why),
            "neither nvidia-smi nor a driver found, though the PCI bus has an NVIDIA GPU");
  EXPECT_THAT(Remedy(unloaded.why), HasSubstr("--gpus all"));
  for (const GpuSigns& signs :
       {GpuSigns{0, 0, false, true}, GpuSigns{0, 0, false, true, 9, kNoDriver}}) {
    const GpuCount others = CountGpus(signs, seconds(5));
    EXPECT_EQ(others.uncounted, Uncounted::kOtherMaker);
    EXPECT_THAT(Message(others.why), HasSubstr("devices of another maker"));
  }
}

TEST(CountGpusTest, ALongMessageIsCut) {
  const GpuCount count = CountGpus({0, 0, false, false, 1, std::string(5000, 'x')}, seconds(5));
  EXPECT_NE(Message(count.why), "");
  EXPECT_LT(Message(count.why).size(), 300u);
}

TEST(ListingLimitTest, LeavesTimeForTheLogin) {
  EXPECT_EQ(ListingLimit(milliseconds(60'000)), seconds(45));
  EXPECT_EQ(ListingLimit(milliseconds(500)), seconds(1));
}

}  // namespace
}  // namespace autodist::reach
