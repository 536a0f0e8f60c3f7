#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

OptionEntry Option(std::vector<std::string> names, ValueKind value) {
  return {std::move(names), "what it does; and more", "", false, std::move(value)};
}

CommandTree Tree() {
  CommandTree tree;
  tree.program.options = {Option({"--help"}, {})};
  CommandEntry run{"run", "Run it", "", {}, {}, true};
  run.options = {
      Option({"--sync"}, {}),
      Option({"--spec"}, {ValueKind::kFile, "FILE", {}}),
      Option({"-n", "--ranks"}, {ValueKind::kAny, "N", {}}),
      Option({"--per"}, {ValueKind::kChoice, "a|b", {"device", "node"}}),
      Option({"--web"}, {ValueKind::kAny, "[ADDRESS]", {}, false, true}),
      Option({"--framework"}, {ValueKind::kFramework, "FRAMEWORKS", {"torch", "jax"}, true})};
  CommandEntry stop{"stop", "End it", "", {}, {}, false};
  stop.options = {Option({"--now"}, {})};
  stop.positionals = {Option({"JOB"}, {ValueKind::kJob, "JOB", {}, false, true})};
  tree.commands = {run, stop};
  return tree;
}

Completion Of(const std::vector<std::string>& words) {
  return CompletionOf(Tree(), words, [] {
    return std::vector<Completion::Word>{{"3fa9c1", "running"}};
  });
}

std::vector<std::string> Complete(const std::vector<std::string>& words) {
  const Completion completion = Of(words);
  EXPECT_EQ(completion.kind, Completion::Kind::kWords);
  std::vector<std::string> texts;
  for (const Completion::Word& word : completion.words) texts.push_back(word.text);
  return texts;
}

TEST(CompletionTest, FirstComesTheCommand) {
  EXPECT_THAT(Complete({}), ElementsAre("run", "stop", "help"));
  EXPECT_THAT(Complete({"s"}), ElementsAre("stop"));
  EXPECT_THAT(Complete({"-"}), ElementsAre("--help"));
  EXPECT_THAT(Complete({"help", ""}),
              ElementsAre("run", "stop", "spec", "exit-codes", "environment", "output"));
  EXPECT_THAT(Complete({"nonsense", ""}), ElementsAre("run", "stop", "help"));
}

TEST(CompletionTest, AnOptionIsFollowedByItsValue) {
  EXPECT_THAT(Complete({"run", "--s"}), ElementsAre("--sync", "--spec"));
  EXPECT_EQ(Of({"run", "--s"}).words[0].about, "what it does");
  EXPECT_EQ(Of({"run", "--spec", "c"}).kind, Completion::Kind::kFiles);
  EXPECT_THAT(Complete({"run", "--per", ""}), ElementsAre("device", "node"));
  EXPECT_THAT(Complete({"run", "--per=n"}), ElementsAre("--per=node"));
  EXPECT_THAT(Complete({"run", "--per", "=", "n"}), ElementsAre("node")) << "as bash splits it";
  EXPECT_THAT(Complete({"run", "--per", "="}), ElementsAre("device", "node"));
  EXPECT_THAT(Complete({"run", "--framework", "torch,"}), ElementsAre("torch,torch", "torch,jax"));
  EXPECT_THAT(Complete({"run", "--framework=torch,j"}), ElementsAre("--framework=torch,jax"));
  EXPECT_THAT(Complete({"run", "-n", ""}), IsEmpty());
  EXPECT_THAT(Complete({"run", "--per=node", "--sy"}), ElementsAre("--sync"));
  EXPECT_THAT(Complete({"run", "--nonsense=x"}), IsEmpty());
}

TEST(CompletionTest, TheProgramIsCompletedByTheShell) {
  EXPECT_EQ(Of({"run", "py"}).kind, Completion::Kind::kProgram);
  EXPECT_EQ(Of({"run", "py"}).program, 2u);
  EXPECT_EQ(Of({"run", "--spec", "f", "--", "cat", "--p"}).program, 5u);
  EXPECT_EQ(Of({"run", "--sync", "cat", "--p"}).program, 3u) << "without the dashes";
  EXPECT_EQ(Of({"run", "--web", "cat", ""}).program, 3u) << "a value that may be left out";
  EXPECT_THAT(Complete({"run", "--"}),
              ElementsAre("--sync", "--spec", "--ranks", "--per", "--web", "--framework", "--"));
}

TEST(CompletionTest, JobsAreListedWhereOneIsExpected) {
  EXPECT_THAT(Complete({"stop", ""}), ElementsAre("last", "3fa9c1"));
  EXPECT_THAT(Complete({"stop", "3"}), ElementsAre("3fa9c1"));
  EXPECT_THAT(Complete({"stop", "--"}), ElementsAre("--now"));
}

}  // namespace
}  // namespace autodist::cli
