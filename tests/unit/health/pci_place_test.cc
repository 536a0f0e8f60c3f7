#include "health/pci_place.h"

#include <gtest/gtest.h>

namespace autodist::health {
namespace {

TEST(PciPlaceTest, AddressesOfDriverAndKernelAreTheSame) {
  EXPECT_EQ(ParsePciPlace("00000000:3B:00.0"), ParsePciPlace("0000:3b:00"));
  EXPECT_EQ(ParsePciPlace("3b:00"), ParsePciPlace("0000:3b:00"));
  EXPECT_NE(ParsePciPlace("0001:3b:00"), ParsePciPlace("0000:3b:00"));
  EXPECT_NE(ParsePciPlace("0000:3b:01"), ParsePciPlace("0000:3b:00"));
  for (const char* none : {"", "3b", "0000:3b:", "x:3b:00", ":"}) {
    EXPECT_FALSE(ParsePciPlace(none)) << none;
  }
}

}  // namespace
}  // namespace autodist::health
