#include "ssh/known_hosts.h"

#include <gtest/gtest.h>

#include "ssh/key_file.h"
#include "support/shell.h"
#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using Match = KnownHosts::Match;

// Two real keys, and known_hosts files made of them.
class KnownHostsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      test::Shell("ssh-keygen -q -t ed25519 -N '' -C c -f " + folder_.path() + "/" + name);
    }
    a_ = Blob("a");
    b_ = Blob("b");
  }
  std::string Blob(const std::string& name) const {
    return ReadKeyFile(folder_.path() + "/" + name)->public_blob;
  }
  // "ssh-ed25519 AAAA..."
  std::string Public(const std::string& name) const {
    const std::string line = folder_.Read(name + ".pub");
    return line.substr(0, line.rfind(' '));
  }
  KnownHosts Load(const std::string& text) const {
    return KnownHosts({folder_.Write("known_hosts", text)});
  }
  Match Check(const std::string& text, const std::string& host, uint16_t port = 22) const {
    return Load(text).Check(host, port, a_).match;
  }

  const test::TempFolder folder_;
  std::string a_;
  std::string b_;
};

TEST_F(KnownHostsTest, TheKeysOfAHost) {
  const KnownHosts known =
      Load("[h]:2222 " + Public("a") + "\nh " + Public("b") + "\n@revoked h " + Public("a") + "\n");
  EXPECT_EQ(known.KeysOf("h", 2222), std::vector{Public("a")});
  EXPECT_EQ(known.KeysOf("h", 22), std::vector{Public("b")});
  EXPECT_EQ(known.KeysOf("h", 4), std::vector{Public("b")});
  EXPECT_TRUE(known.KeysOf("g", 22).empty());
}

TEST_F(KnownHostsTest, AHostHasSeveralNames) {
  const auto known = KnownHosts::OfOneHost({Public("b"), Public("a")});
  EXPECT_EQ(known->Check("10.0.0.2", 2222, a_).match, Match::kTrusted);
  EXPECT_EQ(KnownHosts::OfOneHost({Public("b")})->Check("h", 22, a_).match, Match::kChanged);
}

TEST_F(KnownHostsTest, DistinguishesTrustedUnknownAndChanged) {
  const std::string line = "host,10.0.0.1 " + Public("a") + " comment\n";
  EXPECT_EQ(Check(line, "host"), Match::kTrusted);
  EXPECT_EQ(Check(line, "HOST"), Match::kTrusted);
  EXPECT_EQ(Check(line, "10.0.0.1"), Match::kTrusted);
  EXPECT_EQ(Check(line, "other"), Match::kUnknown);
  EXPECT_EQ(Check("", "host"), Match::kUnknown);
  const auto changed = Load("# comment\n\nhost " + Public("b") + "\n").Check("host", 22, a_);
  EXPECT_EQ(changed.match, Match::kChanged);
  EXPECT_EQ(changed.where, folder_.path() + "/known_hosts:3");
}

TEST_F(KnownHostsTest, OneOfSeveralKeysIsEnough) {
  EXPECT_EQ(Check("host " + Public("b") + "\nhost " + Public("a") + "\n", "host"), Match::kTrusted);
}

TEST_F(KnownHostsTest, PortsAreWrittenWithBrackets) {
  const std::string line = "[host]:2222 " + Public("a") + "\n";
  EXPECT_EQ(Check(line, "host", 2222), Match::kTrusted);
  EXPECT_EQ(Check(line, "host"), Match::kUnknown);
  EXPECT_EQ(Check("host " + Public("a") + "\n", "host", 2222), Match::kTrusted);
  EXPECT_EQ(Check("host " + Public("b") + "\n", "host", 2222), Match::kUnknown);
}

TEST_F(KnownHostsTest, PatternsAndNegation) {
  const std::string line = "*.example,!bad.example,10.0.?.1 " + Public("a") + "\n";
  EXPECT_EQ(Check(line, "good.example"), Match::kTrusted);
  EXPECT_EQ(Check(line, "bad.example"), Match::kUnknown);
  EXPECT_EQ(Check(line, "10.0.7.1"), Match::kTrusted);
  EXPECT_EQ(Check(line, "10.0.77.1"), Match::kUnknown);
}

TEST_F(KnownHostsTest, HashedNamesOfSshKeygen) {
  folder_.Write("hashed", "host " + Public("a") + "\n[host]:2222 " + Public("b") + "\n");
  test::Shell("ssh-keygen -q -H -f " + folder_.path() + "/hashed 2>&1");
  const std::string text = folder_.Read("hashed");
  ASSERT_NE(text.find("|1|"), std::string::npos);
  EXPECT_EQ(Check(text, "host"), Match::kTrusted);
  EXPECT_EQ(Check(text, "host", 2222), Match::kChanged);
  EXPECT_EQ(Check(text, "other"), Match::kUnknown);
}

TEST_F(KnownHostsTest, AnswersDoNotDependOnEarlierQueries) {
  folder_.Write("hashed", "host " + Public("b") + "\nother " + Public("a") + "\n");
  test::Shell("ssh-keygen -q -H -f " + folder_.path() + "/hashed 2>&1");
  const std::string path = folder_.Write(
      "known_hosts", folder_.Read("hashed") + "one,two " + Public("a") + "\n*.lab,!x.lab " +
                         Public("a") + "\nh?st " + Public("a") + "\n");
  KnownHosts known({path});
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(known.Check("two", 22, a_).match, Match::kTrusted);
    EXPECT_EQ(known.Check("gpu.lab", 22, a_).match, Match::kTrusted);
    EXPECT_EQ(known.Check("x.lab", 22, a_).match, Match::kUnknown);
    EXPECT_EQ(known.Check("host", 22, b_).where, path + ":1");
    EXPECT_EQ(known.Check("host", 22, a_).where, path + ":5");
    EXPECT_EQ(known.Check("other", 22, a_).where, path + ":2");
    const auto is_new = turn == 0 ? Match::kUnknown : Match::kTrusted;
    EXPECT_EQ(known.Check("new", 22, a_).match, is_new);
    EXPECT_EQ(known.Check("other", 22, b_).match, turn == 0 ? Match::kChanged : Match::kTrusted);
    ASSERT_TRUE(known.Add("new", 22, a_, true).ok() && known.Add("other", 22, b_, true).ok());
  }
}

TEST_F(KnownHostsTest, ARevokedKeyIsRefusedEvenIfItIsListed) {
  EXPECT_EQ(Check("host " + Public("a") + "\n@revoked * " + Public("a") + "\n", "host"),
            Match::kRevoked);
}

TEST_F(KnownHostsTest, BadLinesAreSkipped) {
  const std::string text = "nonsense\nhost ssh-ed25519 !!!\nhost ssh-future AAAA\n\x01\x02\n" +
                           std::string(10'000, 'x') + "\nhost " + Public("a") + "\n";
  EXPECT_EQ(Check(text, "host"), Match::kTrusted);
}

TEST_F(KnownHostsTest, TheLineToAddIsAccepted) {
  for (const uint16_t port : {uint16_t{22}, uint16_t{2222}}) {
    EXPECT_EQ(Check(KnownHosts::Line("Host", port, a_) + "\n", "host", port), Match::kTrusted);
  }
}

TEST_F(KnownHostsTest, FingerprintIsThatOfSshKeygen) {
  const std::string printed = test::Shell("ssh-keygen -l -f " + folder_.path() + "/a.pub");
  EXPECT_NE(printed.find(" " + KnownHosts::Fingerprint(a_) + " "), std::string::npos) << printed;
}

TEST_F(KnownHostsTest, ReturnsTheKeyTypesToRequest) {
  EXPECT_EQ(Load("host " + Public("a") + "\n").KeyTypes("host", 22),
            std::vector<std::string>{"ssh-ed25519"});
}

TEST_F(KnownHostsTest, AuthoritiesAreNotKeysOfTheHost) {
  const std::string text = "@cert-authority *.lab,10.0.* " + Public("a") + "\n";
  EXPECT_TRUE(Load(text).HasAuthority("gpu1.lab", 22));
  EXPECT_FALSE(Load(text).HasAuthority("gpu1.elsewhere", 22));
  EXPECT_EQ(Check(text, "gpu1.lab"), Match::kUnknown);
  EXPECT_FALSE(Load("gpu1.lab " + Public("a") + "\n").HasAuthority("gpu1.lab", 22));
}

TEST_F(KnownHostsTest, AnAddedKeyIsTrustedNowAndByOpensshLater) {
  for (const bool hashed : {false, true}) {
    const std::string path = folder_.Write("known_hosts", "# no line feed at the end");
    KnownHosts known({path});
    EXPECT_EQ(known.Check("Host", 2222, a_).match, Match::kUnknown);
    ASSERT_TRUE(known.Add("Host", 2222, a_, hashed).ok());
    EXPECT_EQ(known.Check("host", 2222, a_).match, Match::kTrusted);
    EXPECT_EQ(known.Check("host", 2222, b_).match, Match::kChanged);
    EXPECT_EQ(KnownHosts({path}).Check("host", 2222, a_).match, Match::kTrusted);
    EXPECT_EQ(folder_.Read("known_hosts").find("host") == std::string::npos, hashed);
    test::Shell("ssh-keygen -F '[host]:2222' -f " + path);  // fails if the name is not found
  }
}

// The code of a full disk is also that of a server that is busy, which is asked again.
TEST_F(KnownHostsTest, AFullDiskIsNoBusyServer) {
  const Status full = KnownHosts({"/dev/full"}).Add("host", 22, a_, false);
  EXPECT_EQ(full.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(full), "adding the host key to /dev/full: write: No space left on device");
  EXPECT_EQ(Remedy(full), "make room on the disk of /dev/full");
}

TEST_F(KnownHostsTest, APartOfALineIsRemoved) {
  const std::string text = "other " + Public("b") + "\n";
  const std::string path = folder_.Write("known_hosts", text);
  KnownHosts known({path});
  {
    const test::FileSizeLimit limit(text.size() + 8);
    EXPECT_EQ(known.Add("host", 22, a_, false).code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(folder_.Read("known_hosts"), text);
}

}  // namespace
}  // namespace autodist::ssh
