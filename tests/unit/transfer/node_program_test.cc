#include "transfer/node_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autodist/v1/messages_digest.h"
#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::transfer {
namespace {

using testing::HasSubstr;

TEST(NodeProgramTest, AnAgentWithOtherMessagesIsRefused) {
  const test::TempFolder folder;
  std::string content = *base::ReadFile(AGENT_PROGRAM, 1 << 30);
  const std::string ours = AUTODIST_MESSAGES_MARK AUTODIST_MESSAGES_DIGEST;
  const size_t at = content.find(ours);
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(NodeProgram::OfAgent(folder.Write("same", content)).ok());
  content[at + ours.size() - 1] ^= 1;
  const Status other = NodeProgram::OfAgent(folder.Write("other", content)).status();
  EXPECT_THAT(Message(other), HasSubstr("/other is the agent of another version of autodist"));
  EXPECT_NE(Remedy(other), "");
}

TEST(NodeProgramTest, AnInvalidProgramIsRefusedButAScriptMayStartOne) {
  EXPECT_THAT(Message(NodeProgram::OfAgent("/bin/true").status()), HasSubstr("is not an agent"));
  const test::TempFolder folder;
  EXPECT_TRUE(NodeProgram::OfAgent(folder.Write("script", "#!/bin/sh\nexec agent \"$@\"\n")).ok());
}

}  // namespace
}  // namespace autodist::transfer
