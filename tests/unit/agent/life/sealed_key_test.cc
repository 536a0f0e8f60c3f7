// Keys sealed as munge credentials, with a fake unmunge.
#include "agent/life/sealed_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::HasSubstr;

class SealedKeyTest : public testing::Test {
 protected:
  SealedKeyTest() { setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1); }
  ~SealedKeyTest() override { setenv("PATH", path_before_.c_str(), 1); }

  // Sets its stdout, and prints a line on stderr.
  void Unmunge(const std::string& output, int status, const std::string& said = "") const {
    folder_.Write("output", output);
    const std::string script = "#!/bin/sh\ncd '" + folder_.path() +
                               "'\necho \"$*\" > arguments\ncat > input\ncat output\necho '" +
                               said + "' >&2\nexit " + std::to_string(status) + "\n";
    std::filesystem::permissions(folder_.Write("unmunge", script),
                                 std::filesystem::perms::owner_all);
  }
  static std::string Uid(uid_t uid) { return std::to_string(uid); }

  const test::TempFolder folder_;
  const std::string path_before_ = getenv("PATH");
};

TEST_F(SealedKeyTest, IsTheOutputOfUnmunge) {
  for (const std::string& uid : {Uid(geteuid()), "ada (" + Uid(geteuid()) + ")"}) {
    Unmunge("UID:      " + uid + "\n\nthe key\n", 0);
    const auto key = OpenSealedKey("MUNGE:x:\n", "/run/a socket");
    ASSERT_TRUE(key.ok()) << key.status();
    EXPECT_EQ(*key, "the key\n");
  }
  EXPECT_EQ(folder_.Read("input"), "MUNGE:x:\n");
  EXPECT_EQ(folder_.Read("arguments"), "--keys=UID --socket=/run/a socket\n");
  ASSERT_TRUE(OpenSealedKey("MUNGE:x:\n", "").ok());
  EXPECT_EQ(folder_.Read("arguments"), "--keys=UID\n");
}

TEST_F(SealedKeyTest, AReplayByAnotherTaskOfTheHostIsAccepted) {
  Unmunge("UID: " + Uid(geteuid()) + "\n\nthe key\n", 17, "Replayed credential");
  EXPECT_EQ(*OpenSealedKey("MUNGE:x:\n", ""), "the key\n");
}

TEST_F(SealedKeyTest, ACredentialOfAnotherUserIsRefused) {
  for (const std::string& uid : {"ada (" + Uid(geteuid() + 1) + ")", Uid(geteuid() + 1),
                                 std::string("4294967296"), std::string("ada"), std::string()}) {
    Unmunge("UID: " + uid + "\n\nthe key\n", 0);
    EXPECT_EQ(OpenSealedKey("MUNGE:x:\n", "").status().code(), StatusCode::kPermissionDenied);
  }
}

TEST_F(SealedKeyTest, FailuresAreReported) {
  Unmunge("", 6, "unmunge: Error: Failed to access \"/run/munge\"");
  const Status failed = OpenSealedKey("MUNGE:x:\n", "").status();
  EXPECT_THAT(Message(failed), HasSubstr("Failed to access"));
  EXPECT_THAT(Remedy(failed), HasSubstr("munged"));
  std::filesystem::remove(folder_.path() + "/unmunge");
  setenv("PATH", folder_.path().c_str(), 1);
  EXPECT_THAT(Message(OpenSealedKey("MUNGE:x:\n", "").status()),
              HasSubstr("decrypting the job's key: unmunge"));
}

// A party between the machines cannot make the agent accept another key.
TEST_F(SealedKeyTest, OnlySealedKeysAreAcceptedIfRequired) {
  const std::string key = "autodist-job-key " + std::string(64, 'a') + "\\n";
  const auto call = [&](const std::string& options) {
    const std::string line = "printf '" + key + "' | '" + AGENT_PROGRAM +
                             "' connect-back a 0 127.0.0.1:1 " + options + " 2>&1";
    FILE* const pipe = popen(line.c_str(), "r");
    std::string output;
    for (int c = 0; (c = fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1);
    return output;
  };
  Unmunge("", 8, "Invalid credential");
  EXPECT_THAT(call(""), HasSubstr("no chief at"));
  EXPECT_THAT(call("--munge"), HasSubstr("Invalid credential"));
  EXPECT_THAT(call("--munge=/run/a"), HasSubstr("hint: "));
  Unmunge("UID: " + Uid(geteuid()) + "\n\n" + "autodist-job-key " + std::string(64, 'b') + "\n", 0);
  EXPECT_THAT(call("--munge"), HasSubstr("no chief at"));
}

}  // namespace
}  // namespace autodist::agent
