#include "control/faulty_nodes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/write_file.h"
#include "support/temp_folder.h"

namespace autodist::control {
namespace {

TEST(FaultyNodesTest, EachLineIsANodeAndOthersAreNamed) {
  std::vector<int> wrong_lines;
  const std::vector<FaultyNode> expected = {
      {"gpu7", "2026-11-28T06:20:11Z", "GPU 1 fell off the bus (XID 79)"}, {"fe80::1", "now", "x"}};
  EXPECT_EQ(ParseFaultyNodes("# a comment\n\n"
                             "gpu7 2026-11-28T06:20:11Z GPU 1 fell off the bus (XID 79)\n"
                             "gpu7\ngpu7 2026-11-28T06:20:11Z\n gpu7 now x\ngpu7  now\n"
                             "fe80::1 now x\n",
                             wrong_lines),
            expected);
  EXPECT_EQ(wrong_lines, (std::vector<int>{4, 5, 6, 7}));
  wrong_lines.clear();
  EXPECT_TRUE(ParseFaultyNodes("", wrong_lines).empty());
  EXPECT_TRUE(wrong_lines.empty());
}

class FaultyNodesFileTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_STATE_HOME", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_STATE_HOME"); }

  const test::TempFolder folder_;
};

TEST_F(FaultyNodesFileTest, ANodeIsRememberedUntilItIsForgotten) {
  EXPECT_TRUE(ReadFaultyNodes()->empty());
  ASSERT_TRUE(RememberFaultyNode("gpu7", "first").ok());
  ASSERT_TRUE(RememberFaultyNode("gpu8", "second\nline").ok());
  ASSERT_TRUE(RememberFaultyNode("gpu7", "third").ok());
  const auto nodes = ReadFaultyNodes();
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].address, "gpu8");
  EXPECT_EQ((*nodes)[1].why, "third");
  EXPECT_EQ((*nodes)[1].since.size(), 20u);
  EXPECT_TRUE(ForgetFaultyNode("gpu8").ok());
  EXPECT_EQ(ReadFaultyNodes()->size(), 1u);
  EXPECT_EQ(ForgetFaultyNode("gpu8").code(), StatusCode::kNotFound);
}

TEST_F(FaultyNodesFileTest, LinesOfPeopleStayAndAWrongOneIsSkipped) {
  ASSERT_TRUE(RememberFaultyNode("gpu7", "first").ok());
  const std::string file = *FaultyNodesFile();
  const std::string theirs = "# ours, until Monday\n\ngpu7\n";
  ASSERT_TRUE(base::WriteFile(file, theirs + "gpu8 now broken", base::IfExists::kReplace).ok());
  testing::internal::CaptureStderr();
  const auto nodes = ReadFaultyNodes();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "autodist: warning: " + file + ":3 is skipped: it is not ADDRESS SINCE WHY\n");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ(nodes->front().address, "gpu8");
  ASSERT_TRUE(RememberFaultyNode("gpu9", "second").ok());
  ASSERT_TRUE(ForgetFaultyNode("gpu8").ok());
  const std::string text = *base::ReadFile(file, 1000);
  EXPECT_TRUE(text.starts_with(theirs + "gpu9 2")) << text;
  EXPECT_TRUE(text.ends_with("Z second\n")) << text;
}

TEST_F(FaultyNodesFileTest, JobsThatEndTogetherLoseNoNode) {
  constexpr int kJobs = 8;
  constexpr int kNodesOfEach = 20;
  std::vector<std::jthread> jobs;
  for (int job = 0; job < kJobs; ++job) {
    jobs.emplace_back([job] {
      for (int i = 0; i < kNodesOfEach; ++i) {
        const std::string name = "gpu" + std::to_string(job * kNodesOfEach + i);
        EXPECT_TRUE(RememberFaultyNode(name, "broken").ok());
      }
    });
  }
  jobs.clear();
  EXPECT_EQ(ReadFaultyNodes()->size(), size_t{kJobs * kNodesOfEach});
}

}  // namespace
}  // namespace autodist::control
