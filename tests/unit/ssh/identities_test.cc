#include "ssh/identities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <thread>

#include "ssh/ssh_public_key.h"
#include "ssh/ssh_wire.h"
#include "support/askpass.h"
#include "support/shell.h"
#include "support/ssh_agent.h"
#include "support/ssh_signature.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPassphrase[] = "correct horse";

class IdentitiesTest : public testing::Test {
 protected:
  // Creates folder/NAME and NAME.pub, with NAME as the comment.
  std::string Generate(const std::string& name, const std::string& passphrase = "",
                       const std::string& options = "-t ed25519 -a 1") {
    std::string file = Path(name);
    test::Shell("ssh-keygen -q -N '" + passphrase + "' -C " + name + " " + options + " -f " + file);
    return file;
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  // Creates NAME-cert.pub of NAME.pub.
  std::string Certify(const std::string& file, const std::string& options = "") {
    if (!std::ifstream(Path("ca"))) Generate("ca");
    test::Shell("ssh-keygen -q -s " + Path("ca") + " -I me -n me " + options + " " + file + ".pub");
    return file + "-cert.pub";
  }

  const std::string& Agent() {
    if (!agent_) agent_.emplace(folder_.path());
    return agent_->socket();
  }
  void AddToAgent(const std::string& file) {
    Agent();
    // From an unencrypted copy, without the certificate and without a prompt.
    test::Shell("cp -p " + file + " " + file + ".copy && ssh-keygen -q -p -P '" + kPassphrase +
                "' -N '' -f " + file + ".copy > /dev/null");
    agent_->Add(file + ".copy");
    std::remove((file + ".copy").c_str());
  }

  Result<IdentityOffer> For(const IdentityOptions& options) { return identities_.For(options); }

  std::vector<std::string> Described(const Result<IdentityOffer>& offer) const {
    if (!offer.ok()) return {Message(offer.status())};
    std::vector<std::string> described;
    for (const auto& identity : offer->identities) {
      std::string text = identity->description();
      for (size_t at = text.find(folder_.path() + "/"); at != std::string::npos;
           at = text.find(folder_.path() + "/")) {
        text.erase(at, folder_.path().size() + 1);
      }
      described.push_back(text);
      // The algorithm's name is the blob's type, except for RSA keys.
      const std::string algorithm(WireReader(identity->public_blob()).String());
      const std::string request = test::LoginRequest(algorithm);
      const auto signature = identity->SignRequest(request, {});
      EXPECT_TRUE(signature.ok()) << signature.status();
      const std::string plain = IsCertificate(identity->public_blob())
                                    ? ReadCertificate(identity->public_blob())->plain_blob
                                    : identity->public_blob();
      EXPECT_TRUE(signature.ok() && test::Verifies(plain, std::string(WireReader(plain).String()),
                                                   request, *signature))
          << text;
    }
    return described;
  }

  const test::TempFolder folder_;
  std::optional<test::RealAgent> agent_;
  // The files for which passphrases were asked, in order.
  std::vector<std::string> Asked() const {
    std::vector<std::string> files;
    for (const std::string& prompt : askpass_.Asked()) {
      constexpr std::string_view kBefore = "Enter passphrase for ";
      files.push_back(prompt.starts_with(kBefore)
                          ? prompt.substr(kBefore.size(), prompt.find(':') - kBefore.size())
                          : prompt);
    }
    return files;
  }

  const test::Askpass askpass_{{kPassphrase}};
  Identities identities_;
};

TEST_F(IdentitiesTest, AgentFirstThenFiles) {
  const std::string in_file = Generate("in_file");
  const std::string in_both = Generate("in_both", kPassphrase);
  AddToAgent(Generate("other", kPassphrase));
  AddToAgent(in_both);
  const IdentityOptions options{{in_file, in_both}, true, {}, Agent(), false};
  const auto offer = For(options);
  EXPECT_THAT(Described(offer),
              ElementsAre("in_both in ssh-agent", "key 'other' in ssh-agent", "in_file"));
  EXPECT_THAT(offer->notes, IsEmpty());
  EXPECT_TRUE(offer->identities[0]->slow());
  EXPECT_FALSE(offer->identities[2]->slow());
  IdentityOptions only_these = options;
  only_these.only_these = true;
  EXPECT_THAT(Described(For(only_these)), ElementsAre("in_both in ssh-agent", "in_file"));
  EXPECT_THAT(Asked(), IsEmpty());
}

// As with smart cards: the .pub file names the key to use.
TEST_F(IdentitiesTest, OnlyThePublicKeyIsAFile) {
  for (const char* name : {"first", "second"}) {
    AddToAgent(Generate(name, kPassphrase));
    std::remove(Path(name).c_str());
  }
  EXPECT_THAT(Described(For({{Path("second"), Path("first.pub")}, true, {}, Agent(), true})),
              ElementsAre("second in ssh-agent", "first.pub in ssh-agent"));
}

TEST_F(IdentitiesTest, CertificatesPrecedeTheirKey) {
  const std::string in_file = Generate("in_file", "", "-t ecdsa -b 384");
  const std::string in_agent = Generate("in_agent", kPassphrase);
  const std::string elsewhere = Generate("elsewhere", kPassphrase);
  Certify(in_file);
  Certify(in_agent);
  const std::string certificate = Certify(elsewhere);
  std::rename(certificate.c_str(), Path("moved.pub").c_str());
  AddToAgent(in_agent);
  AddToAgent(elsewhere);
  EXPECT_THAT(
      Described(For({{in_file, in_agent}, true, {Path("moved.pub")}, Agent(), true})),
      ElementsAre("certificate in_agent-cert.pub with its key in ssh-agent",
                  "in_agent in ssh-agent", "certificate moved.pub with its key in ssh-agent",
                  "certificate in_file-cert.pub", "in_file"));
}

TEST_F(IdentitiesTest, CertificatesInTheAgent) {
  const std::string file = Generate("key");
  Certify(file);
  Agent();
  agent_->Add(file);  // ssh-add adds the certificate beside it, too
  std::remove((file + "-cert.pub").c_str());
  std::remove(file.c_str());
  EXPECT_THAT(Described(For({{file}, true, {}, Agent(), true})),
              ElementsAre("certificate of key in ssh-agent", "key in ssh-agent"));
  EXPECT_THAT(
      Described(For({{}, false, {}, Agent(), false})),
      testing::UnorderedElementsAre("key 'key' in ssh-agent", "certificate 'key' in ssh-agent"));
}

TEST_F(IdentitiesTest, RsaCertificatesAreSignedForWithSha2) {
  const std::string file = Generate("key", "", "-t rsa -b 2048");
  Certify(file);
  const auto offer = For({{file}, true, {}, "", false});
  ASSERT_TRUE(offer.ok()) << offer.status();
  const std::string request = test::LoginRequest("rsa-sha2-512-cert-v01@openssh.com");
  const auto signature = offer->identities[0]->SignRequest(request, {});
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_TRUE(IsCertificate(offer->identities[0]->public_blob()));
  EXPECT_TRUE(
      test::Verifies(offer->identities[1]->public_blob(), "rsa-sha2-512", request, *signature));
}

TEST_F(IdentitiesTest, UnsuitableCertificates) {
  const std::string expired = Generate("expired");
  Certify(expired, "-V 20200101:20200102");
  const std::string of_host = Generate("of_host");
  Certify(of_host, "-h");
  const std::string lost = Generate("lost");
  const std::string certificate = Certify(lost);
  const auto offer = For({{expired, of_host}, false, {certificate, Path("none")}, "", false});
  EXPECT_THAT(Described(offer), ElementsAre("certificate expired-cert.pub", "expired", "of_host"));
  EXPECT_THAT(offer->notes,
              ElementsAre("the configured certificate file " + Path("none") + " is not there",
                          "certificate " + of_host +
                              "-cert.pub is a host certificate, not a user certificate",
                          "the private key of certificate " + certificate +
                              " is neither in a key file nor in ssh-agent"));
  const auto named = For({{expired}, true, {Path("none")}, "", false});
  EXPECT_THAT(Message(named.status()), HasSubstr("none: No such file"));
  EXPECT_NE(Remedy(named.status()), "");
}

TEST_F(IdentitiesTest, WhyACertificateIsRejected) {
  const std::string key = Generate("key");
  const auto read = [](const std::string& file) {
    const auto certificate = ReadCertificate(*ReadPublicKeyFile(file));
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return *certificate;
  };
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  const SshCertificate valid = read(Certify(key, "-n ann,bob -V 20200101:20990101"));
  EXPECT_THAT(valid.users, ElementsAre("ann", "bob"));
  EXPECT_EQ(CertificateFault(valid, "bob", now), "");
  EXPECT_EQ(CertificateFault(valid, "root", now), "is for ann, bob, not for root");
  EXPECT_THAT(CertificateFault(valid, "bob", 1), HasSubstr("is not valid before 20"));
  EXPECT_THAT(CertificateFault(valid, "bob", valid.valid_before), HasSubstr("has expired on 20"));
  const SshCertificate always = read(Certify(key));
  EXPECT_THAT(always.users, ElementsAre("me"));
  EXPECT_EQ(CertificateFault(always, "me", now), "");
}

TEST_F(IdentitiesTest, NamedFilesMustWork) {
  const std::string good = Generate("good");
  const auto missing = For({{good, Path("none")}, true, {}, "", false});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  chmod(good.c_str(), 0644);
  askpass_.Answer({});
  Identities fresh;
  EXPECT_EQ(fresh.For({{good}, true, {}, "", false}).status().code(),
            StatusCode::kPermissionDenied);
  const auto locked = fresh.For({{Generate("locked", kPassphrase)}, true, {}, "", false});
  EXPECT_EQ(locked.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(locked.status()), HasSubstr("no correct passphrase was given"));
}

TEST_F(IdentitiesTest, DefaultFilesMayBeMissingOrInvalid) {
  const std::string open = Generate("open");
  chmod(open.c_str(), 0644);
  const auto offer =
      For({{Path("none/.ssh/id_rsa"), open, Generate("good")}, false, {}, Path("no_agent"), false});
  EXPECT_THAT(Described(offer), ElementsAre("good"));
  EXPECT_THAT(offer->notes, ElementsAre(HasSubstr("no_agent: connect: No such file"),
                                        HasSubstr("open is too open: mode 0644")));
}

TEST_F(IdentitiesTest, NamedFilesAreDecryptedOnceForAllLogins) {
  const std::string file = Generate("key", kPassphrase);
  const IdentityOptions options{{file}, true, {}, "", false};
  constexpr int kNodes = 4;
  std::vector<Result<IdentityOffer>> offers(kNodes, Status(StatusCode::kInternal, ""));
  {
    std::vector<std::jthread> nodes;
    for (auto& offer : offers) nodes.emplace_back([&] { offer = For(options); });
  }
  for (const auto& offer : offers) EXPECT_THAT(Described(offer), ElementsAre("key"));
  EXPECT_THAT(Asked(), ElementsAre(file));
}

TEST_F(IdentitiesTest, FilesAreReadOnceForAllLogins) {
  const std::string file = Generate("key");
  const std::string certificate = Certify(file);
  const IdentityOptions options{{file}, true, {}, "", false};
  const std::vector<std::string> first = Described(For(options));
  EXPECT_EQ(first.size(), 2u);
  std::remove(certificate.c_str());
  EXPECT_EQ(Described(For(options)), first);
  EXPECT_EQ(Described(For({{file}, false, {}, "", false})).size(), 1u);
}

TEST_F(IdentitiesTest, AnUnansweredPromptIsNotRepeated) {
  askpass_.Answer({});
  const IdentityOptions options{{Generate("key", kPassphrase)}, true, {}, "", false};
  EXPECT_FALSE(For(options).ok());
  EXPECT_FALSE(For(options).ok());
  EXPECT_EQ(Asked().size(), 1u);
}

TEST_F(IdentitiesTest, DefaultFilesAreDecryptedOnlyIfNothingElseExists) {
  const std::string locked = Generate("locked", kPassphrase);
  const std::string second = Generate("second", kPassphrase);
  const auto with_other = For({{locked, Generate("good")}, false, {}, "", false});
  EXPECT_THAT(Described(with_other), ElementsAre("good"));
  EXPECT_THAT(with_other->notes, ElementsAre(locked + " is encrypted and not in ssh-agent"));
  EXPECT_THAT(Asked(), IsEmpty());

  const auto alone = For({{locked, second}, false, {}, "", false});
  EXPECT_THAT(Described(alone), ElementsAre("locked"));
  EXPECT_THAT(alone->notes, ElementsAre(second + " is encrypted and not in ssh-agent"));
  EXPECT_THAT(Asked(), ElementsAre(locked));
}

// The public key of an encrypted PEM file is unknown; the .pub file identifies it in the agent.
TEST_F(IdentitiesTest, EncryptedPemInTheAgent) {
  const std::string file = Generate("key", kPassphrase, "-t ecdsa -m PEM");
  AddToAgent(file);
  EXPECT_THAT(Described(For({{file}, true, {}, Agent(), true})), ElementsAre("key in ssh-agent"));
  EXPECT_THAT(Asked(), IsEmpty());
}

// Left over from a key of the same name.
TEST_F(IdentitiesTest, EncryptedPemBesideThePublicKeyOfAnother) {
  const std::string file = Generate("key", kPassphrase, "-t ecdsa -m PKCS8");
  test::Shell("mv " + Generate("other", kPassphrase) + ".pub " + file + ".pub");
  EXPECT_THAT(Described(For({{file}, true, {}, "", false})), ElementsAre("key"));
}

TEST_F(IdentitiesTest, CertificateOfAnEncryptedFile) {
  const std::string file = Generate("key", kPassphrase);
  Certify(file);
  EXPECT_THAT(Described(For({{file}, true, {}, "", false})),
              ElementsAre("certificate key-cert.pub", "key"));
}

TEST_F(IdentitiesTest, WithoutOpensshEncryptedDefaultFilesAreNamed) {
  const std::string file = Generate("locked", kPassphrase);
  const char* const set = getenv("PATH");
  const std::string path = set ? set : "";
  setenv("PATH", folder_.path().c_str(), 1);
  const auto offer = For({{file}, false, {}, "", false});
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(Message(offer.status()),
              HasSubstr("key file " + file + " is encrypted: 'ssh-agent' is not in PATH"));
}

TEST_F(IdentitiesTest, AtMostAsManyAsServersAccept) {
  std::vector<std::string> files;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) files.push_back(Generate(name));
  for (const char* name : {"u", "v", "w", "x", "y"}) AddToAgent(Generate(name, kPassphrase));
  const auto both = For({{files[0], files[1]}, true, {}, Agent(), false});
  EXPECT_THAT(Described(both), ElementsAre("key 'u' in ssh-agent", "key 'v' in ssh-agent",
                                           "key 'w' in ssh-agent", "a", "b"));
  EXPECT_THAT(both->notes, ElementsAre(HasSubstr("2 more keys, because servers limit")));
  EXPECT_THAT(Described(For({files, true, {}, Agent(), false})),
              ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(IdentitiesTest, NothingToOffer) {
  const auto none = For({{Path("none/.ssh/id_rsa")}, false, {}, "", false});
  EXPECT_EQ(none.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(none.status()), HasSubstr("no key file, and no ssh-agent"));
  EXPECT_THAT(Remedy(none.status()), HasSubstr("ssh-add"));
  const auto empty = For({{Path("none/.ssh/id_rsa")}, false, {}, Agent(), false});
  EXPECT_THAT(Message(empty.status()), HasSubstr("ssh-agent has no keys, or is locked"));
  EXPECT_THAT(Remedy(empty.status()), HasSubstr("ssh-add -X"));
}

TEST_F(IdentitiesTest, TheHintIsThatOfTheKeyThatCannotBeUsed) {
  const std::string open = Generate("open");
  chmod(open.c_str(), 0644);
  const std::string damaged =
      folder_.Write("damaged", "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END\n");
  chmod(damaged.c_str(), 0600);
  const std::string lost = Certify(Generate("lost"));
  askpass_.Answer({});
  struct Case {
    IdentityOptions options;
    std::string hint;
  };
  const std::string locked = Generate("locked", kPassphrase);
  for (const Case& one : std::vector<Case>{
           {{{open}, false, {}, "", false}, "chmod 600 " + open},
           {{{open + ".pub"}, false, {}, "", false}, "give the private key, the file without .pub"},
           {{{damaged}, false, {}, "", false}, "make a new copy of it, or a new key"},
           {{{locked}, false, {}, "", false}, "run ssh-add " + locked + " first"},
           {{{folder_.path()}, false, {}, "", false}, "correct its path"},
           {{{Path("none")}, false, {}, "", false}, "correct IdentityFile in ~/.ssh/config"},
           {{{}, false, {Path("none")}, "", false}, "correct CertificateFile in ~/.ssh/config"},
           {{{}, false, {lost}, "", false}, "add that private key to ssh-agent"},
           {{{Path("a/.ssh/id_rsa")}, false, {}, Path("dead"), false}, "start an ssh-agent"},
       }) {
    const Status failure = For(one.options).status();
    EXPECT_THAT(Message(failure), testing::StartsWith("no key to log in with: "));
    EXPECT_THAT(Remedy(failure), testing::StartsWith(one.hint));
    EXPECT_THAT(Remedy(failure), Not(HasSubstr("make a key"))) << Message(failure);
  }
  const Status both = For({{open}, false, {}, Path("dead"), false}).status();
  EXPECT_THAT(Remedy(both), HasSubstr("; or chmod 600 " + open));
}

TEST_F(IdentitiesTest, AMissingConfiguredFileIsNamed) {
  const auto none = For({{Path("keys/10.0.0.1")}, false, {Path("a-cert.pub")}, "", false});
  EXPECT_THAT(Message(none.status()),
              AllOf(HasSubstr("key file " + Path("keys/10.0.0.1") + " is not there"),
                    HasSubstr("certificate file " + Path("a-cert.pub") + " is not there"),
                    HasSubstr("and no ssh-agent"), Not(HasSubstr("there is no key file"))));
  EXPECT_THAT(Remedy(none.status()), HasSubstr("IdentityFile"));
  const auto other = For({{Path("keys/10.0.0.1"), Generate("b")}, false, {}, "", false});
  EXPECT_THAT(Described(other), ElementsAre("b"));
  EXPECT_THAT(other->notes, ElementsAre(HasSubstr("keys/10.0.0.1 is not there")));
}

TEST_F(IdentitiesTest, SecurityKeysAreLeftToSsh) {
  // The file that ssh-keygen writes for a device, which does not exist here.
  std::string blob;
  AppendString(blob, "sk-ssh-ed25519@openssh.com");
  std::string body("openssh-key-v1\0", 15);
  for (const char* field : {"none", "none", ""}) AppendString(body, field);
  AppendNumber(body, 1);
  AppendString(body, blob);
  AppendString(body, "secret");
  const std::string raw = folder_.Write("raw", body);
  const std::string file = Path("id_ed25519_sk");
  test::Shell("(echo '-----BEGIN OPENSSH PRIVATE KEY-----'; base64 " + raw +
              "; echo '-----END OPENSSH PRIVATE KEY-----') > " + file + "; chmod 600 " + file);
  EXPECT_EQ(For({{file}, true, {}, "", false}).status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(For({{file}, false, {}, "", false}).status().code(), StatusCode::kUnimplemented);
  const auto offer = For({{file, Generate("good")}, false, {}, "", false});
  EXPECT_THAT(Described(offer), ElementsAre("good"));
  EXPECT_TRUE(offer->only_ssh_can_use_more);
  EXPECT_THAT(offer->notes, ElementsAre(HasSubstr("security key")));
}

TEST_F(IdentitiesTest, CommentsAreEscapedForTheTerminal) {
  const std::string file = Generate("key");
  test::Shell("ssh-keygen -q -c -C \"$(printf 'a\\033[2Jb')\" -f " + file + " > /dev/null");
  Agent();
  agent_->Add(file);
  std::remove(file.c_str());
  EXPECT_THAT(Described(For({{}, false, {}, Agent(), false})),
              ElementsAre("key 'a\\x1b[2Jb' in ssh-agent"));
}

}  // namespace
}  // namespace autodist::ssh
