#include "transport/ssh_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/shell.h"
#include "support/temp_folder.h"
#include "transport/ssh_wire.h"

namespace autodist::transport {
namespace {

using testing::HasSubstr;

struct KeyKind {
  const char* name;
  const char* options;    // of ssh-keygen
  const char* algorithm;  // to sign with
};

class SshKeyTest : public testing::TestWithParam<KeyKind> {
 protected:
  const test::TempFolder folder_;
};

std::string SigningRequest(const std::string& algorithm) {
  std::string request;
  AppendString(request, "session");
  request += '\x32';
  for (const char* field : {"user", "ssh-connection", "publickey"}) AppendString(request, field);
  request += '\x01';
  AppendString(request, algorithm);
  return request;
}

// What ssh-keygen makes is read, and what is signed is accepted by OpenSSH (ssh-keygen -Y verify
// takes another message, so the proof of the signature is the login in the cluster tests; here it
// only has to exist and to have the right size).
TEST_P(SshKeyTest, ReadsWhatSshKeygenWrites) {
  const std::string file = folder_.path() + "/key";
  test::Shell(std::string("ssh-keygen -q -N '' ") + GetParam().options + " -f " + file);
  const auto key = SshKey::Load(file);
  ASSERT_TRUE(key.ok()) << key.status();

  const std::string wanted = test::Shell("cut -d' ' -f2 " + file + ".pub | base64 -d");
  EXPECT_EQ((*key)->public_blob(), wanted);
  const auto signature = (*key)->SignRequest(SigningRequest(GetParam().algorithm));
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_GE(signature->size(), 64u);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, SshKeyTest,
    testing::Values(KeyKind{"Ed25519", "-t ed25519", "ssh-ed25519"},
                    KeyKind{"Ecdsa256", "-t ecdsa -b 256", "ecdsa-sha2-nistp256"},
                    KeyKind{"Ecdsa384", "-t ecdsa -b 384", "ecdsa-sha2-nistp384"},
                    KeyKind{"Ecdsa521", "-t ecdsa -b 521", "ecdsa-sha2-nistp521"},
                    KeyKind{"Ecdsa256Pem", "-t ecdsa -b 256 -m PEM", "ecdsa-sha2-nistp256"},
                    KeyKind{"Rsa", "-t rsa -b 2048", "rsa-sha2-512"},
                    KeyKind{"RsaPem", "-t rsa -b 2048 -m PEM", "rsa-sha2-256"},
                    KeyKind{"RsaPkcs8", "-t rsa -b 2048 -m PKCS8", "rsa-sha2-512"}),
    [](const auto& test) { return std::string(test.param.name); });

class BadKeyTest : public testing::Test {
 protected:
  std::string MessageFor(const std::string& path) {
    const auto key = SshKey::Load(path);
    EXPECT_FALSE(key.ok());
    EXPECT_NE(Remedy(key.status()), "");
    return Message(key.status());
  }
  const test::TempFolder folder_;
};

TEST_F(BadKeyTest, NamesTheFileAndTheReason) {
  EXPECT_THAT(MessageFor(folder_.path() + "/none"), HasSubstr("No such file or directory"));
  EXPECT_THAT(MessageFor(folder_.Write("text", "hello")), HasSubstr("not a private key"));
  for (const char* format : {"", "-m PEM"}) {
    const std::string file = folder_.path() + "/encrypted" + std::to_string(format[0]);
    test::Shell(std::string("ssh-keygen -q -N secret -t rsa -b 2048 ") + format + " -f '" + file +
                "'");
    EXPECT_THAT(MessageFor(file), HasSubstr("encrypted"));
  }
}

TEST_F(BadKeyTest, DamagedFilesAreRefused) {
  const std::string file = folder_.path() + "/key";
  test::Shell("ssh-keygen -q -N '' -t ed25519 -f " + file);
  const std::string text = folder_.Read("key");
  for (size_t cut = 40; cut < text.size() - 40; cut += 7) {
    std::string damaged = text;
    damaged.erase(cut, 20);
    const auto key = SshKey::Load(folder_.Write("damaged", damaged));
    // Whatever it is taken for, it is not taken for the key that it was.
    if (key.ok()) {
      EXPECT_NE((*key)->public_blob(), (*SshKey::Load(file))->public_blob());
    }
  }
}

}  // namespace
}  // namespace autodist::transport
