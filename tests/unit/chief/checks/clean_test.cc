#include "chief/checks/clean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_folder.h"
#include "support/home_folder.h"
#include "support/nobody.h"
#include "support/temp_folder.h"
#include "transport/local.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using What = CleanedJob::What;

std::string Answer(const std::string& lines, const std::string& status) {
  return "Welcome!\nended\tnot-ours.1\n\nAUTODIST-CLEAN n\n" + lines + "\nAUTODIST-CLEANED n " +
         status + "\n";
}

TEST(ReadCleanedTest, FindsTheAnswerAfterNoise) {
  const auto node = ReadCleaned(
      Answer("ended\tjob-1.0\nin-use\tjob-2.3\nremoved\tjob-3.0\nwhat?\tjob-4.0\n", "0"), "n");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(node->has_agent);
  EXPECT_THAT(node->jobs,
              ElementsAre(CleanedJob{What::kEnded, "job-1.0"}, CleanedJob{What::kInUse, "job-2.3"},
                          CleanedJob{What::kRemoved, "job-3.0"}));
  EXPECT_TRUE(ReadCleaned(Answer("", "0"), "n")->jobs.empty());
}

TEST(ReadCleanedTest, WithoutAnAgent) {
  const auto node = ReadCleaned(Answer("left\tjob-1.0\n", "none"), "n");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_FALSE(node->has_agent);
  EXPECT_THAT(node->jobs, ElementsAre(CleanedJob{What::kLeft, "job-1.0"}));
}

TEST(ReadCleanedTest, NamesWithControlSequencesAreNotJobs) {
  EXPECT_TRUE(ReadCleaned(Answer("ended\t\x1b[31m\nended\t\n", "0"), "n")->jobs.empty());
  EXPECT_TRUE(ReadCleaned(Answer("ended\t" + std::string(256, 'j'), "0"), "n")->jobs.empty());
}

TEST(ReadCleanedTest, ATruncatedAnswer) {
  const std::string whole = Answer("ended\tjob-1.0\n", "0");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(ReadCleaned(whole.substr(0, length), "n").status().code(), StatusCode::kNotFound);
  }
  EXPECT_EQ(ReadCleaned(whole, "another").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadCleaned(Answer("", "2"), "n").status().code(), StatusCode::kInternal);
}

class CleanNodesTest : public testing::Test {
 protected:
  // Installs an agent's program whose `clean` runs this script.
  std::string Agent(const std::string& script) const {
    const std::string path =
        folder_.Write("agent", "#!/bin/sh\n[ \"$*\" = clean ] || exit 3\n" + script);
    chmod(path.c_str(), 0755);
    return path;
  }
  static ReachToClean Locally(const std::string& agent) {
    return [agent](size_t) -> Result<NodeToClean> {
      return NodeToClean{std::make_unique<transport::LocalTransport>(), agent, {"0000", "1"}};
    };
  }

  const test::TempFolder folder_;
};

TEST_F(CleanNodesTest, RunsTheAgentOnEachNode) {
  const auto nodes =
      CleanNodes(2, Locally(Agent("printf 'ended\\tjob-1.0\\nin-use\\tjob-2.0\\n'")));
  ASSERT_EQ(nodes.size(), 2u);
  for (const auto& node : nodes) {
    ASSERT_TRUE(node.ok()) << node.status();
    EXPECT_TRUE(node->has_agent);
    EXPECT_THAT(node->jobs, ElementsAre(CleanedJob{What::kEnded, "job-1.0"},
                                        CleanedJob{What::kInUse, "job-2.0"}));
  }
}

TEST_F(CleanNodesTest, AnotherVersionOfTheAgentIsUsedIfNecessary) {
  const test::HomeFolder home;
  const std::string cache = home.path() + "/.cache/autodist/agent/0123";
  std::filesystem::create_directories(cache);
  std::filesystem::rename(Agent("printf 'removed\\tjob-1.0\\n'"), cache + "/autodist-agent");
  const auto nodes = CleanNodes(1, Locally(""));
  std::filesystem::remove_all(cache);
  const std::string in_home = base::SocketFolders().back() + "/job-1.0";
  std::filesystem::create_directories(in_home);
  const auto none = CleanNodes(1, Locally(""));
  ASSERT_TRUE(nodes[0].ok()) << nodes[0].status();
  EXPECT_THAT(nodes[0]->jobs, ElementsAre(CleanedJob{What::kRemoved, "job-1.0"}));
  ASSERT_TRUE(none[0].ok()) << none[0].status();
  EXPECT_FALSE(none[0]->has_agent);
  EXPECT_THAT(none[0]->jobs, testing::Contains(CleanedJob{What::kLeft, "job-1.0"}));
}

// An attacker's folder with the agent's name: a link that passes all checks of a path, such as
// /proc/self, and that points elsewhere a moment later.
TEST_F(CleanNodesTest, NothingInAnotherUsersFolderIsRun) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  const test::HomeFolder home;
  const std::string theirs = "/tmp/autodist-agent-0";
  std::filesystem::create_directory(theirs);
  const std::string place = theirs + "/aaa";
  std::filesystem::create_directory(place);
  const std::string agent = Agent("touch " + folder_.path() + "/ran");
  // it belongs to root, and runs
  std::filesystem::create_symlink(agent, place + "/autodist-agent");
  ASSERT_EQ(chown(theirs.c_str(), test::kNobody, test::kNobody), 0);
  const auto nodes = CleanNodes(1, Locally(""));
  std::filesystem::remove_all(theirs);
  ASSERT_TRUE(nodes[0].ok()) << nodes[0].status();
  EXPECT_FALSE(nodes[0]->has_agent);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/ran"));
}

TEST_F(CleanNodesTest, AFailingAgent) {
  const auto nodes = CleanNodes(1, Locally(Agent("echo 'cannot kill' >&2; exit 1")));
  ASSERT_FALSE(nodes[0].ok());
  EXPECT_THAT(Message(nodes[0].status()), HasSubstr("could not clean up"));
}

TEST_F(CleanNodesTest, ANodeThatDoesNotAnswerInTime) {
  const auto nodes = CleanNodes(1, Locally(Agent("exec cat >/dev/null")), milliseconds(300));
  EXPECT_EQ(nodes[0].status().code(), StatusCode::kAborted);
  EXPECT_THAT(Message(nodes[0].status()), HasSubstr("within 0.3 s"));
}

TEST_F(CleanNodesTest, AnUnreachableNode) {
  const auto nodes =
      CleanNodes(1, [](size_t) { return Error(StatusCode::kUnavailable, "no route"); });
  EXPECT_EQ(Message(nodes[0].status()), "no route");
}

}  // namespace
}  // namespace autodist::chief
