#include "secure/key.h"

#include <gtest/gtest.h>

namespace autodist::secure {
namespace {

// Computed by `printf 'autodist node key 1: node-1' | openssl dgst -sha256 -mac HMAC -macopt
// hexkey:...`.
TEST(KeyTest, ANodesKeyIsTheHmacOfItsName) {
  const auto job_key = Key::FromHex(std::string(64, '0'));
  ASSERT_TRUE(job_key);
  EXPECT_EQ(job_key->ForNode("node-1").ToHex(),
            "cc073fc9eca073068a1686173bb2a5aadb0754960eec385580d7dc62063073d0");
  EXPECT_NE(job_key->ForNode("node-1").ToHex(), job_key->ForNode("node-2").ToHex());
  EXPECT_NE(Key::Random().ToHex(), Key::Random().ToHex());
}

TEST(KeyTest, LinesIdentifyTheKindOfKey) {
  const Key job_key = Key::Random();
  const Key node_key = job_key.ForNode("a");
  EXPECT_EQ(JobKeyIn(JobKeyLine(job_key))->ToHex(), job_key.ToHex());
  EXPECT_EQ(NodeKeyIn(NodeKeyLine(node_key), "a")->ToHex(), node_key.ToHex());
  EXPECT_EQ(NodeKeyIn(JobKeyLine(job_key) + "more\n", "a")->ToHex(), node_key.ToHex());
  EXPECT_FALSE(JobKeyIn(NodeKeyLine(node_key)));
}

TEST(KeyTest, InvalidKeysAreRefused) {
  for (const std::string text : {"", "0", "x"}) EXPECT_FALSE(Key::FromHex(text));
  EXPECT_FALSE(Key::FromHex(std::string(63, '0')));
  EXPECT_FALSE(Key::FromHex(std::string(65, '0')));
  EXPECT_FALSE(Key::FromHex(std::string(63, '0') + "g"));
  for (const std::string line : {"", "\n", "autodist-job-key", "autodist-job-key \n", "a b\n"}) {
    EXPECT_FALSE(NodeKeyIn(line, "a"));
  }
}

}  // namespace
}  // namespace autodist::secure
