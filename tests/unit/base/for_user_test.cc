#include "base/for_user.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(ForUserTest, ShowsTheSectionsForTheSource) {
  struct Row {
    const char* text;
    const char* of_spec;
    const char* of_hosts;
  };
  const Row rows[] = {
      {"", "", ""},
      {"make it executable", "make it executable", "make it executable"},
      {"correct [spec|`port` in the spec, or ][init|--port, or ]Port",
       "correct `port` in the spec, or Port", "correct Port"},
      {"[spec|add it]", "add it", ""},
      {"[spec,hosts|lower --fan-out]", "lower --fan-out", "lower --fan-out"},
      {"[hosts,here|a][spec|b]", "b", "a"},
      {"give it[spec| as 'cpus: [0]' in the spec]", "give it as 'cpus: [0]' in the spec",
       "give it"},
      // These begin no section.
      {"[fe80::1]:22 [user@]host a|b", "[fe80::1]:22 [user@]host a|b",
       "[fe80::1]:22 [user@]host a|b"},
      {"[specs|a] [|a] [spec,|a]", "[specs|a] [|a] [spec,|a]", "[specs|a] [|a] [spec,|a]"},
      {"[a [spec|b]]", "[a b]", "[a ]"},
      {"[spec|without end", "[spec|without end", "[spec|without end"},
      {"[spec", "[spec", "[spec"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ForUserOf(NodeSource::kSpec, row.text), row.of_spec);
    EXPECT_EQ(ForUserOf(NodeSource::kHosts, row.text), row.of_hosts);
  }
}

TEST(ForUserTest, EachSourceHasAName) {
  constexpr char kText[] = "[spec|1][hosts|2][init|3][allocation|4][here|5]";
  EXPECT_EQ(ForUserOf(NodeSource::kSpec, kText), "1");
  EXPECT_EQ(ForUserOf(NodeSource::kHosts, kText), "2");
  EXPECT_EQ(ForUserOf(NodeSource::kInit, kText), "3");
  EXPECT_EQ(ForUserOf(NodeSource::kAllocation, kText), "4");
  EXPECT_EQ(ForUserOf(NodeSource::kHere, kText), "5");
}

TEST(ForUserTest, AProcessHasOneSource) {
  EXPECT_EQ(ForUser("[spec|a][here|b]"), "a");
  SetNodeSource(NodeSource::kHere);
  EXPECT_EQ(CurrentNodeSource(), NodeSource::kHere);
  EXPECT_EQ(ForUser("[spec|a][here|b]"), "b");
  SetNodeSource(NodeSource::kSpec);
}

}  // namespace
}  // namespace autodist::base
