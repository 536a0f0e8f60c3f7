#include "base/quantity.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(CountTest, OneIsSingular) {
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

TEST(CountTest, ThousandsAreSeparated) {
  for (const auto& [number, text] : {std::pair{0, "0"},
                                     {999, "999"},
                                     {1000, "1,000"},
                                     {65'280, "65,280"},
                                     {1'234'567, "1,234,567"}}) {
    EXPECT_EQ(Thousands(static_cast<size_t>(number)), text);
  }
}

TEST(ElapsedTest, HasTwoUnits) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  EXPECT_EQ(Elapsed(milliseconds(340)), "0.3 s");
  EXPECT_EQ(Elapsed(seconds(59)), "59 s");
  EXPECT_EQ(Elapsed(seconds(60)), "1 min 0 s");
  EXPECT_EQ(Elapsed(seconds(151)), "2 min 31 s");
  EXPECT_EQ(Elapsed(seconds(3'900)), "1 h 5 min");
  EXPECT_EQ(Elapsed(seconds(273'600)), "3 d 4 h");
}

TEST(QuantityTest, MemoryIsCountedInPowersOfTwo) {
  EXPECT_EQ(BinaryBytes(0), "0 KiB");
  EXPECT_EQ(BinaryBytes(1), "1 byte");
  EXPECT_EQ(BinaryBytes(1023), "1023 bytes");
  EXPECT_EQ(BinaryBytes(256 << 10), "256 KiB");
  EXPECT_EQ(BinaryBytes(1 << 20), "1.0 MiB");
  EXPECT_EQ(BinaryBytes((uint64_t{1} << 30) - 1), "1.0 GiB");
  EXPECT_EQ(BinaryBytes(67'322'000'000), "62.7 GiB");
  EXPECT_EQ(BinaryBytes(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace autodist::base
