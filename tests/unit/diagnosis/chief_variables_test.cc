#include "diagnosis/chief_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::diagnosis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChiefVariablesTest, SessionVariablesAreNotCompared) {
  EXPECT_THAT(NamesToCompare({"HF_TOKEN", "TERM", "SSH_AUTH_SOCK", "PATH", "DATA_DIR", "LC_ALL",
                              "RANK", "CUDA_VISIBLE_DEVICES", "BASH_FUNC_module%%", "_", "a-b"}),
              ElementsAre("DATA_DIR", "HF_TOKEN"));
  EXPECT_LE(NamesToCompare(std::vector<std::string>(10'000, "A")).size(), 512u);
  EXPECT_THAT(NamesToCompare({std::string(1000, 'A')}), IsEmpty());
}

TEST(ChiefVariablesTest, OnlyWholeWordsMatch) {
  const std::vector<std::string> names = {"HF", "HF_TOKEN", "X"};
  EXPECT_THAT(NamesIn("os.environ['HF_TOKEN']", names), ElementsAre("HF_TOKEN"));
  EXPECT_THAT(NamesIn("$X/a MY_HF_TOKEN HF_TOKENS", names), ElementsAre("X"));
}

TEST(ChiefVariablesTest, OnlyRelevantVariables) {
  const std::vector<std::string> names = {"FOO",        "HF_TOKEN",   "HTTPS_PROXY",
                                          "PYTHONPATH", "WANDB_MODE", "WORK"};
  const auto first = [&](const std::string& wrote) { return LikelyMissed(wrote, names).front(); };
  EXPECT_EQ(first("KeyError: 'FOO'"), "FOO");
  EXPECT_EQ(first("OSError: 401 Client Error: access is restricted"), "HF_TOKEN");
  EXPECT_EQ(first("ConnectTimeout: Max retries exceeded with url"), "HTTPS_PROXY");
  EXPECT_EQ(first("ModuleNotFoundError: No module named 'mine'"), "PYTHONPATH");
  EXPECT_THAT(LikelyMissed("KeyError: 'FOO' 401", names), ElementsAre("FOO"));
  EXPECT_THAT(LikelyMissed("401 Client Error", names), ElementsAre("HF_TOKEN", "HTTPS_PROXY"));
  EXPECT_THAT(LikelyMissed("ValueError: shapes differ", names), IsEmpty());
}

TEST(ChiefVariablesTest, Messages) {
  EXPECT_EQ(NamesAsText({"A"}), "A");
  EXPECT_EQ(NamesAsText({"A", "B", "C"}), "A, B and C");
  EXPECT_EQ(NamesAsText({"A", "B", "C", "D", "E", "F"}), "A, B, C, D and 2 more");
}

}  // namespace
}  // namespace autodist::diagnosis
