#include "base/quantity.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(CountTest, OneIsNotMany) {
  EXPECT_EQ(Count(0, "rank"), "0 ranks");
  EXPECT_EQ(Count(1, "rank"), "1 rank");
  EXPECT_EQ(Count(2, "rank"), "2 ranks");
}

TEST(CountTest, BytesInTwoOrThreeDigits) {
  EXPECT_EQ(Bytes(0), "0 bytes");
  EXPECT_EQ(Bytes(1), "1 byte");
  EXPECT_EQ(Bytes(999), "999 bytes");
  EXPECT_EQ(Bytes(1000), "1.0 kB");
  EXPECT_EQ(Bytes(9'949), "9.9 kB");
  EXPECT_EQ(Bytes(9'951), "10 kB");
  EXPECT_EQ(Bytes(200'000'000), "200 MB");
  EXPECT_EQ(Bytes(999'600'000), "1.0 GB");
  EXPECT_EQ(Bytes(UINT64_MAX), "18 EB");
}

}  // namespace
}  // namespace autodist::base
