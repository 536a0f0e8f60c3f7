#include "base/did_you_mean.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(NearestTest, FindsWhatWasMeant) {
  const std::vector<std::string> keys = {"address", "cpus", "gpus", "chief", "ssh_config"};
  EXPECT_EQ(Nearest("gpu", keys), "gpus");
  EXPECT_EQ(Nearest("adress", keys), "address");
  EXPECT_EQ(Nearest("SSH_CONFIG", keys), "ssh_config");
  EXPECT_EQ(Nearest("banana", keys), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'a'), keys), "");
}

TEST(AlternativesTest, ReadsAsASentence) {
  EXPECT_EQ(Alternatives({}), "");
  EXPECT_EQ(Alternatives({"a"}), "a");
  EXPECT_EQ(Alternatives({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace autodist::base
