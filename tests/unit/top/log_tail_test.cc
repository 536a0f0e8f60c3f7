#include "top/job_poller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace autodist::top {
namespace {

class LogTailTest : public testing::Test {
 protected:
  void Append(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name, std::ios::app) << text;
  }
  static std::vector<std::string> TextsOf(const LogTail& tail) {
    std::vector<std::string> texts;
    const auto lines = tail.lines();
    for (const TextLine& line : *lines) texts.push_back((line.error ? "!" : "") + line.text);
    return texts;
  }

  const test::TempFolder folder_;
};

TEST_F(LogTailTest, HasTheLastLinesOfBothStreamsAndFollows) {
  for (int i = 0; i < 6000; ++i) Append("rank-3.out", "line " + std::to_string(i) + "\n");
  Append("rank-3.err", "oh\n");
  Append("rank-4.out", "of another\n");
  LogTail tail(folder_.path(), 3);
  EXPECT_TRUE(tail.ReadNew());
  EXPECT_EQ(tail.lines()->size(), kTailLines);
  EXPECT_THAT(TextsOf(tail), testing::Contains("!oh"));
  EXPECT_THAT(TextsOf(tail), testing::Contains("line 5999"));
  EXPECT_THAT(TextsOf(tail), testing::Not(testing::Contains("of another")));
  EXPECT_FALSE(tail.ReadNew());
  Append("rank-3.out", "new\n");
  EXPECT_TRUE(tail.ReadNew());
  EXPECT_EQ(TextsOf(tail).back(), "new");
}

TEST_F(LogTailTest, ABarIsTheLastLineUntilItHasEnded) {
  Append("rank-0.out", "begins\n");
  Append("rank-0.err", "\r 10%|█ |");
  LogTail tail(folder_.path(), 0);
  tail.ReadNew();
  Append("rank-0.err", "\r 20%|██|");
  tail.ReadNew();
  EXPECT_THAT(TextsOf(tail), testing::ElementsAre("begins", "! 20%|██|"));
}

TEST_F(LogTailTest, AMissingLogIsEmpty) {
  LogTail tail(folder_.path() + "/none", 0);
  EXPECT_FALSE(tail.ReadNew());
  EXPECT_TRUE(tail.lines()->empty());
}

}  // namespace
}  // namespace autodist::top
