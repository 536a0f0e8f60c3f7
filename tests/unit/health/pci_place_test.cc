#include "health/pci_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/pci_device.h"
#include "support/temp_folder.h"

namespace autodist::health {
namespace {

TEST(PciPlaceTest, AddressesOfDriverAndKernelAreTheSame) {
  EXPECT_EQ(ParsePciPlace("00000000:3B:00.0"), ParsePciPlace("0000:3b:00"));
  EXPECT_EQ(ParsePciPlace("3b:00"), ParsePciPlace("0000:3b:00"));
  EXPECT_NE(ParsePciPlace("0001:3b:00"), ParsePciPlace("0000:3b:00"));
  EXPECT_NE(ParsePciPlace("0000:3b:01"), ParsePciPlace("0000:3b:00"));
  for (const char* none : {"", "3b", "0000:3b:", "x:3b:00", ":", "0000:3b:00.", "0000:3b:00.8",
                           "0000:3b:00.0 ", "0000:3b:00.x): 79"}) {
    EXPECT_FALSE(ParsePciPlace(none)) << none;
  }
}

TEST(PciPlaceTest, TheDriversFolderNamesItsGpus) {
  const test::TempFolder folder;
  EXPECT_TRUE(GpusOfDriver(folder.path()).empty());
  for (const char* gpu : {"0000:5d:00.0", "0001:01:00.0", "0000:3b:00.0", "other"}) {
    std::filesystem::create_directories(folder.path() + "/proc/driver/nvidia/gpus/" + gpu);
  }
  EXPECT_EQ(GpusOfDriver(folder.path()),
            (std::vector{*ParsePciPlace("0000:3b:00"), *ParsePciPlace("0000:5d:00"),
                         *ParsePciPlace("0001:01:00")}));
}

TEST(PciPlaceTest, AGpuOnTheBusIsADisplayController) {
  const test::TempFolder folder;
  const auto add = [&](const char* address, const char* vendor, const char* type) {
    test::AddPciDevice(folder.path(), address, vendor, type);
  };
  add("0000:00:00.0", "0x10de", "0x060400");  // a bridge of a CPU
  add("0000:03:00.1", "0x10de", "0x040300");  // sound
  add("0000:02:00.0", "0x1a03", "0x030000");  // another maker's
  EXPECT_FALSE(HasNvidiaGpu(folder.path()));
  add("0000:03:00.0", "0x10de", "0x030200");
  EXPECT_TRUE(HasNvidiaGpu(folder.path()));
}

}  // namespace
}  // namespace autodist::health
