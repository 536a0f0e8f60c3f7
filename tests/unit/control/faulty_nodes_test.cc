#include "control/faulty_nodes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/write_file.h"
#include "support/temp_folder.h"

namespace autodist::control {
namespace {

TEST(FaultyNodesTest, EachLineIsANode) {
  const auto nodes = ParseFaultyNodes(
      "# a comment\n\ngpu7 2026-11-28T06:20:11Z GPU 1 fell off the bus (XID 79)\nfe80::1 now x\n",
      "nodes");
  ASSERT_TRUE(nodes.ok()) << nodes.status();
  const std::vector<FaultyNode> expected = {
      {"gpu7", "2026-11-28T06:20:11Z", "GPU 1 fell off the bus (XID 79)"}, {"fe80::1", "now", "x"}};
  EXPECT_EQ(*nodes, expected);
  EXPECT_EQ(*ParseFaultyNodes(FaultyNodesText(*nodes), "nodes"), expected);
  EXPECT_TRUE(ParseFaultyNodes("", "nodes")->empty());
}

TEST(FaultyNodesTest, ALineThatIsNoNodeIsAnError) {
  for (const char* line : {"gpu7\n", "gpu7 2026-11-28T06:20:11Z\n", " gpu7 now x\n"}) {
    const auto nodes = ParseFaultyNodes(std::string("# heading\n") + line, "nodes");
    EXPECT_EQ(Message(nodes.status()), "nodes:2 is no faulty node") << line;
  }
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

TEST_F(FaultyNodesFileTest, AFileThatIsNotUnderstoodIsNotReplaced) {
  ASSERT_TRUE(RememberFaultyNode("gpu7", "first").ok());
  const std::string file = *FaultyNodesFile();
  ASSERT_TRUE(base::WriteFile(file, "gpu7\n", base::IfExists::kReplace).ok());
  EXPECT_FALSE(RememberFaultyNode("gpu8", "second").ok());
  EXPECT_EQ(*base::ReadFile(file, 100), "gpu7\n");
}

}  // namespace
}  // namespace autodist::control
