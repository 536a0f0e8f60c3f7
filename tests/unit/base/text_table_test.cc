#include "base/text_table.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(TextTableTest, LinesColumnsUp) {
  EXPECT_EQ(TextTable({{"JOB", "NAME", "STATE"}, {"1", "probe", "-"}, {"1000", "", "ended"}}),
            "JOB   NAME   STATE\n"
            "1     probe  -\n"
            "1000         ended\n");
}

TEST(TextTableTest, CountsCharactersAndNotBytes) {
  EXPECT_EQ(TextTable({{"NAME", "STATE"}, {"größe", "running"}, {"train", "ended"}}),
            "NAME   STATE\n"
            "größe  running\n"
            "train  ended\n");
  EXPECT_EQ(TextTable({{"größe", "äöüäöü"}}, 12), "größe  äöüä…\n");
}

TEST(TextTableTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(TextTable({{"NAME", "STATE"}, {"训练", "running"}, {"cafe\u0301s", "ended"}}),
            "NAME   STATE\n"
            "训练   running\n"
            "cafe\u0301s  ended\n");
  EXPECT_EQ(TextTable({{"a", "训练训练"}}, 9), "a  训练…\n");
  EXPECT_EQ(TextTable({{"a", "训练训练"}}, 10), "a  训练训…\n");
}

TEST(TextTableTest, OnlyTheLastColumnIsTruncated) {
  EXPECT_EQ(TextTable({{"JOB", "COMMAND"}, {"1", "./train --lr 1"}}, 12),
            "JOB  COMMAND\n"
            "1    ./trai…\n");
  EXPECT_EQ(TextTable({{"a long name", "COMMAND"}}, 10), "a long name  COMMAND\n");
}

TEST(TextTableTest, LinesHaveNoTrailingBlanks) {
  EXPECT_EQ(TextTable({{"a", ""}, {"b", "c"}}), "a\nb  c\n");
}

}  // namespace
}  // namespace autodist::base
