#include "chief/output/rank_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using testing::ElementsAre;

TEST(FailureExcerptTest, StreamsAreSeparate) {
  FailureExcerpt words("/work");
  EXPECT_EQ(words.LastLine(), "");
  words.Take(display::kStdout, "out");
  words.Take(display::kStderr, "err");
  EXPECT_THAT(words.Lines(display::kStdout), ElementsAre("out"));
  EXPECT_THAT(words.Lines(display::kStderr), ElementsAre("err"));
  EXPECT_EQ(words.LastLine(), "err");
  EXPECT_EQ(words.fatal(), nullptr);
}

// As Python 3.13 prints to a terminal, or on request.
TEST(FailureExcerptTest, ColoursDoNotHideAnException) {
  FailureExcerpt words("/work");
  words.Take(display::kStderr, "Traceback (most recent call last):");
  words.Take(display::kStderr,
             "  File \x1b[35m\"/work/train.py\"\x1b[0m, line \x1b[35m7\x1b[0m, in "
             "\x1b[35m<module>\x1b[0m");
  words.Take(display::kStderr, "\x1b[1;35mKeyError\x1b[0m: \x1b[35m'label'\x1b[0m");
  ASSERT_TRUE(words.fatal());
  EXPECT_EQ(words.fatal()->text, "KeyError: 'label', train.py:7");
}

TEST(FailureExcerptTest, OnlyTheLastOfLinesReplacedByAProgressBarCounts) {
  FailureExcerpt words("/work");
  words.Take(display::kStderr, "  5%|\r 10%|\r 99%|#####\r\r");
  words.Take(display::kStderr, "windows\r");
  words.Take(display::kStderr, "\r \t");
  EXPECT_THAT(words.Lines(display::kStderr), ElementsAre(" 99%|#####", "windows"));
}

TEST(FailureExcerptTest, TheMostInformativeMessageCountsOnEitherStream) {
  FailureExcerpt words("/work");
  words.Take(display::kStderr, "n:1:2 [0] NCCL WARN slow");
  words.Take(display::kStdout, "CUDA error: an illegal memory access was encountered");
  ASSERT_NE(words.fatal(), nullptr);
  EXPECT_EQ(words.fatal()->text, "CUDA error: an illegal memory access was encountered");
  words.Take(display::kStderr, "free(): invalid pointer");
  EXPECT_EQ(words.fatal()->text, "free(): invalid pointer");
}

TEST(FailureExcerptTest, ALongLineIsCutBetweenCharacters) {
  std::string line = "x";
  std::string kept = "x";
  for (int i = 0; i < 400; ++i) line += "é";
  for (int i = 0; i < 198; ++i) kept += "é";
  FailureExcerpt words("/work");
  words.Take(display::kStderr, line);
  EXPECT_EQ(words.LastLine(), kept + "…");
  words.Take(display::kStderr, "CUDA error: " + line);
  ASSERT_TRUE(words.fatal());
  EXPECT_TRUE(words.fatal()->text.ends_with("é…")) << words.fatal()->text;
}

}  // namespace
}  // namespace autodist::chief
