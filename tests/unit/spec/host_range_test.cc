#include "spec/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(HostRangeTest, NamesInOneWord) {
  EXPECT_THAT(ExpandHostRange("gpu1").names, ElementsAre("gpu1"));
  EXPECT_THAT(ExpandHostRange("gpu[08-11]").names, ElementsAre("gpu08", "gpu09", "gpu10", "gpu11"));
  EXPECT_THAT(ExpandHostRange("gpu[1-2,7]").names, ElementsAre("gpu1", "gpu2", "gpu7"));
  EXPECT_THAT(
      ExpandHostRange("rack[1-2]n[3-4].example").names,
      ElementsAre("rack1n3.example", "rack1n4.example", "rack2n3.example", "rack2n4.example"));
  EXPECT_THAT(ExpandHostRange("10.0.0.[1-2]").names, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(ExpandHostRange("n[1-5000]").names, SizeIs(5000));
}

TEST(HostRangeTest, ErrorsHaveAPosition) {
  const auto place = [](const std::string& text) {
    const HostRange range = ExpandHostRange(text);
    EXPECT_THAT(range.names, IsEmpty());
    return std::to_string(range.wrong_at) + ": " + range.wrong;
  };
  EXPECT_THAT(place(""), HasSubstr("0: a host name is missing"));
  EXPECT_THAT(place("a[1-2"), HasSubstr("1: '[' without a ']'"));
  EXPECT_THAT(place("a1]"), HasSubstr("2: ']' without a '['"));
  EXPECT_THAT(place("a[1,]"), HasSubstr("4: a number"));
  EXPECT_THAT(place("a[3-1]"), HasSubstr("2: a range that goes"));
  EXPECT_THAT(place("a[1-5001]"), HasSubstr("more than 5000 hosts"));
  EXPECT_THAT(place("a[0-99][0-99]"), HasSubstr("more than 5000 hosts"));
  EXPECT_THAT(place("a[0-999999999]"), HasSubstr("more than 5000 hosts"));
  EXPECT_THAT(place(std::string(254, 'a')), HasSubstr("more than 253 characters"));
}

TEST(HostRangeTest, BracketsAroundAnAddressAreNotARange) {
  EXPECT_TRUE(IsHostRange("gpu[1-2]"));
  EXPECT_FALSE(IsHostRange("[fd00::1]"));
  EXPECT_FALSE(IsHostRange("gpu1"));
}

TEST(HostRangeTest, CommasWithinBracketsDoNotSeparateHosts) {
  EXPECT_THAT(SplitHostList("a[1,3],b,,[fd00::1]:2"),
              ElementsAre("a[1,3]", "b", "", "[fd00::1]:2"));
  EXPECT_THAT(SplitHostList(""), ElementsAre(""));
}

}  // namespace
}  // namespace autodist::spec
