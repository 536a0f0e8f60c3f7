// Reading any file as a spec ends soon and reports its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "spec/text_check.h"
#include "spec/yaml_reader.h"
#include "support/temp_folder.h"

namespace autodist::spec {
namespace {

using testing::HasSubstr;

std::string OnlyIssueOf(const std::string& text) {
  const ReadOutcome outcome = ReadSpec(text, "f");
  EXPECT_FALSE(outcome.spec);
  EXPECT_EQ(outcome.issues.size(), 1u);
  return outcome.issues.empty() ? "" : outcome.issues[0].ToString();
}

TEST(HostileSpecTest, TenMegabytesAreRefusedUnread) {
  const test::TempFolder folder;
  const std::string path = folder.Write("big.yaml", std::string(10 << 20, 'a'));
  const ReadOutcome outcome = ReadSpecFile(path);
  ASSERT_EQ(outcome.issues.size(), 1u);
  EXPECT_THAT(outcome.issues[0].what, HasSubstr("larger than"));
}

TEST(HostileSpecTest, AUserNameWithShellSyntaxIsRefused) {
  const auto issue_of = [](const std::string& user) {
    return OnlyIssueOf("nodes: [{address: a, ssh_config: g}]\nssh: {g: {username: '" + user +
                       "'}}\n");
  };
  for (const std::string user : {"a;id", "-oProxyCommand=id", "a b"}) {
    EXPECT_THAT(issue_of(user), HasSubstr("f:2:21: 'username': '" + user + "' is not a user name"));
  }
  for (const std::string user : {"$(id)", "`id`"}) {
    EXPECT_THAT(issue_of(user),
                HasSubstr("f:2:21: 'username' is '" + user + "': commands are not run here"));
  }
}

TEST(HostileSpecTest, DeepNestingIsASyntaxError) {
  for (const std::string open : {"[", "{a: ", "- ", "? "}) {
    std::string text = "nodes: ";
    if (open == "- " || open == "? ") text = "";
    for (int i = 0; i < 50'000; ++i) text += open;
    EXPECT_FALSE(ReadSpec(text, "f").spec);
  }
}

TEST(HostileSpecTest, AnAliasBombIsRefused) {
  std::string text = "a: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 60; ++i) {
    text += "b" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) text += (j ? ", *a" : "*a") + std::to_string(i - 1);
    text += "]\n";
  }
  text += "nodes: *a59\n";
  const ReadOutcome outcome = ReadSpec(text, "f");
  EXPECT_FALSE(outcome.spec);
  EXPECT_LT(outcome.issues.size(), 200u);
}

TEST(HostileSpecTest, AliasesDoNotMultiply) {
  const auto repeated = [](const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  // Each would be some 10^9 devices, issues or bytes.
  std::string devices;
  for (int i = 0; i < 4000; ++i) devices += std::to_string(i) + ",";
  std::string groups;
  for (int i = 0; i < 20'000; ++i) groups += "  g" + std::to_string(i) + ": *g\n";
  for (const std::string& text :
       {"nodes: [{address: a, gpus: &g [" + devices + "]}, " + repeated("{gpus: *g},", 40'000) +
            "]",
        "nodes: [&n {address: a, gpus: [" + devices + "]}, " + repeated("*n,", 200'000) + "]",
        "nodes: [&n {address: a, gpus: [" + repeated("x,", 30'000) + "]}, " +
            repeated("*n,", 30'000) + "]",
        "nodes: [{address: a, chief: true}, {address: 'a[1-5000]', ssh_config: g, gpus: [" +
            devices + "]}]\nssh: {g: }\n",
        "nodes: [{address: a, chief: true}, " +
            repeated("{address: 'a[1-4000]', ssh_config: g},", 10'000) + "]\nssh: {g: }\n",
        "nodes: [{address: a}]\nssh:\n  g: &g {python_venv: " + repeated("x", 500'000) + "}\n" +
            groups}) {
    const ReadOutcome outcome = ReadSpec(text, "f");
    EXPECT_FALSE(outcome.spec);
    EXPECT_GT(outcome.issues.size(), 0u);
    EXPECT_LT(outcome.issues.size(), 200u);
  }
}

TEST(HostileSpecTest, MergeKeysDoNotMultiply) {
  // Each mapping has all entries of the one before: 10^8 entries together.
  std::string chain = "x-0: &a0 {k: 1}\n";
  for (int i = 1; i < 15'000; ++i) {
    const std::string number = std::to_string(i);
    chain += "x-" + number + ": &a" + number + " {<<: *a" + std::to_string(i - 1) + ", k" + number +
             ": 1}\n";
  }
  const ReadOutcome outcome = ReadSpec(chain + "nodes: [{address: a}]\n", "f");
  ASSERT_EQ(outcome.issues.size(), 1u);
  EXPECT_THAT(outcome.issues[0].what, HasSubstr("too many values"));
}

TEST(HostileSpecTest, AnAnchorThatContainsItself) {
  EXPECT_FALSE(ReadSpec("nodes: &a [*a]\n", "f").spec);
  EXPECT_FALSE(ReadSpec("&a {nodes: *a}\n", "f").spec);
  EXPECT_FALSE(ReadSpec("&a nodes: [{address: *a, *a : *a}]\n", "f").spec);
}

TEST(HostileSpecTest, ALongChainOfAliases) {
  std::string text = "nodes: [&a0 [x]";
  for (int i = 1; i < 50'000; ++i) {
    text += ", &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]";
  }
  EXPECT_FALSE(ReadSpec(text + "]", "f").spec);
}

TEST(HostileSpecTest, BinaryInputIsNamed) {
  EXPECT_THAT(OnlyIssueOf(std::string("nodes:\n \0", 9)), HasSubstr("f:2:2: byte 0x00"));
  EXPECT_THAT(OnlyIssueOf("\x7f"
                          "ELF\x02\x01\x01"),
              HasSubstr("0x02"));
  EXPECT_THAT(OnlyIssueOf("nodes: \xff\xfe"), HasSubstr("f:1:8: byte 0xff is not valid UTF-8"));
}

TEST(HostileSpecTest, RandomChangesNeverCrash) {
  const std::string valid =
      "nodes:\n  - address: 10.0.0.1\n    gpus: [0, 1]\n    chief: true\n"
      "  - address: 10.0.0.2\n    cpus: [0]\n    ssh_config: a\n    network_bandwidth: 2.5\n"
      "ssh:\n  a:\n    key_file: '~/k'\n    port: 22\n    shared_envs: {A: '$B', C: \"d\"}\n";
  ASSERT_TRUE(ReadSpec(valid, "f").spec);
  const std::string alphabet = "[]{}:,-?&*!|>'\"%@`#\n \tab01~<";
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = valid;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % text.size();
      const char letter = alphabet[random() % alphabet.size()];
      switch (random() % 3) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.insert(at, 1 + random() % 3, letter);
          break;
        default:
          text.erase(at, 1 + random() % 8);
      }
    }
    const ReadOutcome outcome = ReadSpec(text, "f");
    ASSERT_EQ(outcome.spec.has_value(), outcome.issues.empty()) << text;
  }
}

}  // namespace
}  // namespace autodist::spec
