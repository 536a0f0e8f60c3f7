#include "ssh/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ssh/ssh_wire.h"
#include "support/shell.h"
#include "support/ssh_signature.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using testing::HasSubstr;

constexpr char kKeyPassphrase[] = "correct horse";

std::string Generate(const std::string& file, const std::string& options,
                     const std::string& passphrase = "") {
  test::Shell("ssh-keygen -q -N '" + passphrase + "' " + options + " -f '" + file + "'");
  return file;
}

std::string PublicBlobIn(const std::string& file) {
  return test::Shell("cut -d' ' -f2 '" + file + "' | base64 -d");
}

// Writes a private file, independent of the umask.
std::string WritePrivate(const test::TempFolder& folder, const std::string& name,
                         const std::string& content) {
  std::string path = folder.Write(name, content);
  EXPECT_EQ(chmod(path.c_str(), 0600), 0);
  return path;
}

struct KeyKind {
  const char* name;
  const char* options;    // of ssh-keygen
  const char* algorithm;  // to sign with
  bool public_in_clear = true;
};

class KeyFileTest : public testing::TestWithParam<KeyKind> {
 protected:
  void ExpectSigns(const SshIdentity& key) {
    EXPECT_EQ(key.public_blob(), PublicBlobIn(file_ + ".pub"));
    EXPECT_FALSE(key.slow());
    EXPECT_EQ(key.description(), file_);
    const std::string algorithm = GetParam().algorithm;
    for (const std::string& named : {algorithm, algorithm + "-cert-v01@openssh.com"}) {
      const std::string request = test::LoginRequest(named);
      const auto signature = key.SignRequest(request, {});
      ASSERT_TRUE(signature.ok()) << signature.status();
      EXPECT_TRUE(test::Verifies(key.public_blob(), algorithm, request, *signature));
      EXPECT_FALSE(test::Verifies(key.public_blob(), algorithm, request + "x", *signature));
    }
  }
  const test::TempFolder folder_;
  const std::string file_ = folder_.path() + "/key";
};

TEST_P(KeyFileTest, ReadsFilesOfSshKeygen) {
  Generate(file_, GetParam().options);
  const auto file = ReadKeyFile(file_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->public_blob, PublicBlobIn(file_ + ".pub"));
  ASSERT_TRUE(file->key);
  ExpectSigns(*file->key);
  EXPECT_FALSE(file->key->SignRequest(test::LoginRequest("ssh-dss"), {}).ok());
  EXPECT_FALSE(file->key->SignRequest("short", {}).ok());
}

TEST_P(KeyFileTest, DetectsAnEncryptedFile) {
  Generate(file_, std::string(GetParam().options) + " -a 1", kKeyPassphrase);
  const auto file = ReadKeyFile(file_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(file->key);
  EXPECT_EQ(file->public_blob, PublicBlobIn(file_ + ".pub"));

  std::rename((file_ + ".pub").c_str(), (file_ + ".away").c_str());
  const auto alone = ReadKeyFile(file_);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->public_blob,
            GetParam().public_in_clear ? PublicBlobIn(file_ + ".away") : std::string());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, KeyFileTest,
    testing::Values(KeyKind{"Ed25519", "-t ed25519", "ssh-ed25519"},
                    KeyKind{"Ecdsa256", "-t ecdsa -b 256", "ecdsa-sha2-nistp256"},
                    KeyKind{"Ecdsa384", "-t ecdsa -b 384", "ecdsa-sha2-nistp384"},
                    KeyKind{"Ecdsa521", "-t ecdsa -b 521", "ecdsa-sha2-nistp521"},
                    KeyKind{"Ecdsa256Pem", "-t ecdsa -b 256 -m PEM", "ecdsa-sha2-nistp256", false},
                    KeyKind{"Rsa", "-t rsa -b 2048", "rsa-sha2-512"},
                    KeyKind{"RsaSha1", "-t rsa -b 2048", "ssh-rsa"},
                    KeyKind{"RsaPem", "-t rsa -b 2048 -m PEM", "rsa-sha2-256", false},
                    KeyKind{"RsaPkcs8", "-t rsa -b 2048 -m PKCS8", "rsa-sha2-512", false}),
    [](const auto& test) { return std::string(test.param.name); });

class BadKeyTest : public testing::Test {
 protected:
  std::string MessageFor(const std::string& path, StatusCode code) {
    const auto key = ReadKeyFile(path);
    EXPECT_EQ(key.status().code(), code) << key.status();
    EXPECT_NE(Remedy(key.status()), "");
    EXPECT_THAT(Message(key.status()), HasSubstr("key file"));
    EXPECT_THAT(Message(key.status()), HasSubstr(path));
    return Message(key.status());
  }
  const test::TempFolder folder_;
};

TEST_F(BadKeyTest, NamesTheFileAndTheReason) {
  EXPECT_THAT(MessageFor(folder_.path() + "/none", StatusCode::kNotFound),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(MessageFor(folder_.path(), StatusCode::kInvalidArgument), HasSubstr("not a file"));
  EXPECT_THAT(
      MessageFor(WritePrivate(folder_, "text", "hello there\n"), StatusCode::kInvalidArgument),
      HasSubstr("not a private key"));
  const std::string putty = WritePrivate(folder_, "putty", "PuTTY-User-Key-File-3: ssh-rsa\n");
  EXPECT_THAT(Remedy(ReadKeyFile(putty).status()), HasSubstr("puttygen"));
}

TEST_F(BadKeyTest, PublicKeysAreNotTakenForPrivateOnes) {
  const std::string file = Generate(folder_.path() + "/key", "-t ed25519");
  EXPECT_THAT(MessageFor(file + ".pub", StatusCode::kInvalidArgument),
              HasSubstr("is a public key"));
  test::Shell("ssh-keygen -e -m RFC4716 -f " + file + " > " + file + ".ssh2");
  EXPECT_THAT(MessageFor(file + ".ssh2", StatusCode::kInvalidArgument),
              HasSubstr("is a public key"));
}

TEST_F(BadKeyTest, FilesAccessibleToOthersAreRefused) {
  const std::string file = Generate(folder_.path() + "/key", "-t ed25519");
  for (const mode_t mode : {0644U, 0610U, 0602U}) {
    chmod(file.c_str(), mode);
    EXPECT_THAT(MessageFor(file, StatusCode::kPermissionDenied), HasSubstr("is too open: mode 06"));
    EXPECT_EQ(Remedy(ReadKeyFile(file).status()), "chmod 600 " + file);
  }
  chmod(file.c_str(), 0400);
  EXPECT_TRUE(ReadKeyFile(file).ok());
}

TEST_F(BadKeyTest, UnsupportedKinds) {
  const std::string file = folder_.path() + "/key";
  test::Shell("openssl genpkey -algorithm X25519 -out " + file + " && chmod 600 " + file);
  EXPECT_THAT(MessageFor(file, StatusCode::kInvalidArgument),
              HasSubstr("SSH has no keys of this kind"));
}

// An OpenSSH file with these parts, encrypted accordingly.
std::string OpensshFile(const std::string& cipher, const std::string& public_blob,
                        const std::string& secret, uint32_t rounds = 1) {
  std::string body("openssh-key-v1\0", 15);
  AppendString(body, cipher);
  AppendString(body, cipher == "none" ? "none" : "bcrypt");
  std::string derivation;
  AppendString(derivation, "0123456789abcdef");
  AppendNumber(derivation, rounds);
  AppendString(body, cipher == "none" ? "" : derivation);
  AppendNumber(body, 1);
  AppendString(body, public_blob);
  AppendString(body, secret);
  std::string base64((body.size() + 2) / 3 * 4 + 1, '\0');
  base64.resize(static_cast<size_t>(EVP_EncodeBlock(
      reinterpret_cast<unsigned char*>(base64.data()),
      reinterpret_cast<const unsigned char*>(body.data()), static_cast<int>(body.size()))));
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64 + "\n-----END OPENSSH PRIVATE KEY-----\n";
}

std::string BlobOfType(const std::string& type) {
  std::string blob;
  AppendString(blob, type);
  AppendString(blob, std::string(32, 'k'));
  return blob;
}

TEST_F(BadKeyTest, SecurityKeysAreLeftToSsh) {
  for (const char* cipher : {"none", "aes256-ctr"}) {
    const std::string file = WritePrivate(
        folder_, "sk", OpensshFile(cipher, BlobOfType("sk-ssh-ed25519@openssh.com"), "secret"));
    EXPECT_THAT(MessageFor(file, StatusCode::kUnimplemented), HasSubstr("security key"));
  }
}

TEST_F(BadKeyTest, ObsoleteKinds) {
  std::string dss;
  AppendNumber(dss, 7);
  AppendNumber(dss, 7);
  AppendString(dss, "ssh-dss");
  const Status old =
      ReadKeyFile(WritePrivate(folder_, "key", OpensshFile("none", BlobOfType("ssh-dss"), dss)))
          .status();
  EXPECT_THAT(Message(old), HasSubstr("'ssh-dss' are not supported"));
  EXPECT_EQ(Remedy(old), "use an Ed25519, ECDSA or RSA key");
}

// The unencrypted public key is verified.
TEST_F(BadKeyTest, PublicPartOfAnotherKey) {
  const std::string file = Generate(folder_.path() + "/key", "-t ed25519");
  const std::string body = test::Shell("grep -v -e '-----' " + file + " | base64 -d");
  WireReader reader(std::string_view(body).substr(15));
  for (int i = 0; i < 3; ++i) reader.String();
  reader.Number();
  reader.String();
  const std::string secret(reader.String());
  const std::string own = PublicBlobIn(file + ".pub");
  EXPECT_TRUE(ReadKeyFile(WritePrivate(folder_, "same", OpensshFile("none", own, secret))).ok());
  EXPECT_THAT(MessageFor(WritePrivate(folder_, "other",
                                      OpensshFile("none", BlobOfType("ssh-ed25519"), secret)),
                         StatusCode::kInvalidArgument),
              HasSubstr("damaged"));
}

TEST_F(BadKeyTest, DamagedFilesAreRefused) {
  for (const char* format : {"", "-m PEM", "-m PKCS8"}) {
    const std::string file =
        Generate(folder_.path() + "/key" + format, std::string("-t ecdsa ") + format);
    const std::string text = test::Shell("cat '" + file + "'");
    for (size_t cut = 0; cut < text.size() - 20; cut += 7) {
      std::string damaged = text;
      damaged.erase(cut, 20);
      const auto key = ReadKeyFile(WritePrivate(folder_, "damaged", damaged));
      EXPECT_FALSE(key.ok()) << cut;
      EXPECT_NE(Remedy(key.status()), "") << cut;
    }
  }
}

}  // namespace
}  // namespace autodist::ssh
