#include "health/pci_place.h"

#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace autodist::health
