#include "display/screen.h"

#include <gtest/gtest.h>

namespace autodist::display {
namespace {

TEST(RowTextTest, OnlyColoursAreKept) {
  EXPECT_EQ(Harmless("\x1b[1;32mok\x1b[0m \x1b[2Jgone\x1b[H\x1b]0;title\x07\x1b]8;;url\x1b\\link"),
            "\x1b[1;32mok\x1b[0m gonelink");
  EXPECT_EQ(Harmless("bell\a null\0 \xc2\x9b"
                     "31m csi"),
            "bell null");
  EXPECT_EQ(Harmless(std::string("a\0b\tc", 5)), "ab\tc");
  EXPECT_EQ(Harmless("caf\xe9 \xc3\xa9"), "caf? \xc3\xa9");
  EXPECT_EQ(Harmless("\x1b[>4;2m x \x1b"), " x ");
}

TEST(RowTextTest, IsTruncatedByColumns) {
  EXPECT_EQ(Cut("abcdef", 4), "abcd");
  EXPECT_EQ(Cut("\x1b[31mab\x1b[0mcd", 3), "\x1b[31mab\x1b[0mc");
  EXPECT_EQ(Cut("█████", 3), "███");
  EXPECT_EQ(Cut("日本語", 5), "日本");
  EXPECT_EQ(Cut("a\tbc", 9), "a       b");
  EXPECT_EQ(Cut("e\u0301e\u0301x", 2), "e\u0301e\u0301");
}

TEST(RowTextTest, ABarIsIdentifiedByTheTextBeforeItsNumbers) {
  EXPECT_EQ(BarLabel("train:  12%|█▏   | 12/100 [00:01<00:07, 12.5it/s]"), "train:");
  EXPECT_EQ(BarLabel("train: 100%|█████| 100/100"), "train:");
  EXPECT_EQ(BarLabel("rank 3: 100%|████|"), "rank 3:");
  EXPECT_EQ(BarLabel("  7.5%"), "");
  EXPECT_EQ(BarLabel("loading 12it [00:01, 11it/s]"), "loading");
  EXPECT_EQ(BarLabel("no numbers"), "no numbers");
}

}  // namespace
}  // namespace autodist::display
