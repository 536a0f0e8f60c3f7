#include "base/did_you_mean.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(NearestTest, FindsTheIntendedName) {
  const std::vector<std::string> keys = {"address", "cpus", "gpus", "chief", "ssh_config"};
  EXPECT_EQ(Nearest("gpu", keys), "gpus");
  EXPECT_EQ(Nearest("adress", keys), "address");
  EXPECT_EQ(Nearest("SSH_CONFIG", keys), "ssh_config");
  EXPECT_EQ(Nearest("banana", keys), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'a'), keys), "");
}

TEST(NearestTest, ComparesOptionsWithoutTheirDashes) {
  const std::vector<std::string> options = {"--per", "--env", "--lease", "--spec"};
  EXPECT_EQ(Nearest("--lese", options), "--lease");
  EXPECT_EQ(Nearest("--evn", options), "--env");
  EXPECT_EQ(Nearest("--lrr", options), "");
  EXPECT_EQ(Nearest("--seed", options), "");
  EXPECT_EQ(Nearest("--", options), "");
}

TEST(AlternativesTest, ReadsAsASentence) {
  EXPECT_EQ(Alternatives({}), "");
  EXPECT_EQ(Alternatives({"a"}), "a");
  EXPECT_EQ(Alternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace autodist::base
