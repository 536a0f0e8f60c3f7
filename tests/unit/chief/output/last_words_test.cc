#include "chief/output/last_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using testing::ElementsAre;

TEST(LastWordsTest, StreamsAreKeptApart) {
  LastWords words("/work");
  EXPECT_EQ(words.LastLine(), "");
  words.Take(display::kStdout, "out");
  words.Take(display::kStderr, "err");
  EXPECT_THAT(words.Lines(display::kStdout), ElementsAre("out"));
  EXPECT_THAT(words.Lines(display::kStderr), ElementsAre("err"));
  EXPECT_EQ(words.LastLine(), "err");
  EXPECT_EQ(words.fatal(), nullptr);
}

TEST(LastWordsTest, OfLinesThatAProgressBarReplacesTheLastCounts) {
  LastWords words("/work");
  words.Take(display::kStderr, "  5%|\r 10%|\r 99%|#####\r\r");
  words.Take(display::kStderr, "windows\r");
  words.Take(display::kStderr, "\r \t");
  EXPECT_THAT(words.Lines(display::kStderr), ElementsAre(" 99%|#####", "windows"));
}

TEST(LastWordsTest, WhatSaysMostCountsWhereverItWasWritten) {
  LastWords words("/work");
  words.Take(display::kStderr, "n:1:2 [0] NCCL WARN slow");
  words.Take(display::kStdout, "CUDA error: an illegal memory access was encountered");
  ASSERT_NE(words.fatal(), nullptr);
  EXPECT_EQ(words.fatal()->text, "CUDA error: an illegal memory access was encountered");
  words.Take(display::kStderr, "free(): invalid pointer");
  EXPECT_EQ(words.fatal()->text, "free(): invalid pointer");
}

}  // namespace
}  // namespace autodist::chief
