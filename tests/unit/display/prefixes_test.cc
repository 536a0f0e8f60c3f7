#include "display/shown_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace autodist::display {
namespace {

using testing::MatchesRegex;

const std::vector<Process> kTwoHosts = {{0, 0, "gpu1.example.org", false},
                                        {10, 0, "gpu12.example.org", false}};

std::string Of(PrefixStyle style, uint32_t rank, const std::vector<Process>& processes = kTwoHosts,
               Style look = {}) {
  return std::string(
      Prefixes(style, processes, {look, look}, false).Of(rank, kStdout, base::WallTime()));
}

TEST(PrefixesTest, Styles) {
  EXPECT_EQ(Of(PrefixStyle::kNone, 0), "");
  EXPECT_EQ(Of(PrefixStyle::kRank, 10), "[10] ");
  EXPECT_EQ(Of(PrefixStyle::kNode, 10), "[gpu12:10] ");
  EXPECT_THAT(Of(PrefixStyle::kTime, 10), MatchesRegex(R"(\[..:..:.. gpu12:10\] )"));
  EXPECT_EQ(Of(PrefixStyle::kNode, 7), "[?:7] ");
}

TEST(PrefixesTest, TimeStampsAreIso8601) {
  setenv("TZ", "XXX-5:30", 1);  // east of Greenwich
  tzset();
  const base::WallTime time(std::chrono::milliseconds(1'795'414'559'042));
  const std::string stamp = "2026-11-23T11:45:59.042+05:30 ";
  const auto of = [](PrefixStyle style) { return Prefixes(style, kTwoHosts, {}, true); };
  EXPECT_EQ(of(PrefixStyle::kNone).Of(0, kStdout, time), stamp);
  EXPECT_EQ(of(PrefixStyle::kNode).Of(0, kStdout, time), stamp + "[gpu1:0] ");
  EXPECT_EQ(of(PrefixStyle::kTime).Of(0, kStdout, time), stamp + "[gpu1:0] ");
  EXPECT_EQ(of(PrefixStyle::kNode).Of(0, kStdout, {}), "[gpu1:0] ");  // it is unknown
  Prefixes of_day(PrefixStyle::kTime, kTwoHosts, {}, false);
  EXPECT_EQ(of_day.Of(0, kStdout, time), "[11:45:59 gpu1:0] ");
  EXPECT_EQ(of_day.Of(0, kStdout, {}), "[gpu1:0] ");
  unsetenv("TZ");
  tzset();
}

TEST(PrefixesTest, NamesWithACommonEndAreShortened) {
  const std::vector<Process> unlike = {{0, 0, "a.x.org", false}, {1, 0, "b.y.org", false}};
  EXPECT_EQ(Of(PrefixStyle::kNode, 1, unlike), "[b.y:1] ");
  const std::vector<Process> names = {{0, 0, "node1", false}, {1, 0, "node2.org", false}};
  EXPECT_EQ(Of(PrefixStyle::kNode, 1, names), "[node2.org:1] ");
  const std::vector<Process> addresses = {{0, 0, "10.0.0.1", false}, {1, 0, "11.0.0.1", false}};
  EXPECT_EQ(Of(PrefixStyle::kNode, 1, addresses), "[11.0.0.1:1] ");
}

TEST(PrefixesTest, OnATerminalTheyAreAlignedAndColouredByNode) {
  const Style terminal{true, true};
  EXPECT_EQ(Of(PrefixStyle::kNode, 0, kTwoHosts, terminal), "\x1b[36m[gpu1:0]\x1b[0m   ");
  EXPECT_EQ(Of(PrefixStyle::kNode, 10, kTwoHosts, terminal), "\x1b[33m[gpu12:10]\x1b[0m ");
  EXPECT_EQ(Of(PrefixStyle::kNode, 0, kTwoHosts, {true, false}), "[gpu1:0]   ");
  EXPECT_EQ(Of(PrefixStyle::kNode, 0, kTwoHosts, {false, true}), "\x1b[36m[gpu1:0]\x1b[0m ");
  Prefixes mixed(PrefixStyle::kNode, kTwoHosts, {Style{}, terminal}, false);
  EXPECT_EQ(mixed.Of(10, kStdout, base::WallTime()), "[gpu12:10] ");
}

}  // namespace
}  // namespace autodist::display
