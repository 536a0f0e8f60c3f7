#include "transport/key_file.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.h"
#include "transport/cleanse.h"
#include "transport/openssh_key.h"
#include "transport/ssh_public_key.h"

namespace autodist::transport {
namespace {

constexpr size_t kLargestKeyFile = 1 << 20;
constexpr int kAttempts = 3;

struct Passphrase {
  std::string_view text;
  bool asked_for = false;
};

int GivePassphrase(char* buffer, int size, int, void* data) {
  auto* passphrase = static_cast<Passphrase*>(data);
  passphrase->asked_for = true;
  if (passphrase->text.empty() || passphrase->text.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(buffer, passphrase->text.data(), passphrase->text.size());
  return static_cast<int>(passphrase->text.size());
}

// Whether what OpenSSL complains about last is what a wrong passphrase leads to; it may also
// decrypt to something that is no key.
bool SaysBadDecrypt() {
  while (const unsigned long error = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(error);
    if (reason && std::string_view(reason).find("bad decrypt") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// kFailedPrecondition if the key is encrypted and the passphrase is empty.
Result<EvpKey> ParsePem(const std::string& text, std::string_view passphrase) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  Passphrase given{passphrase};
  ERR_clear_error();
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, GivePassphrase, &given);
  const bool bad_decrypt = SaysBadDecrypt();
  ERR_clear_error();
  if (key) return EvpKey(key, EVP_PKEY_free);
  if (given.asked_for && passphrase.empty()) {
    return Error(StatusCode::kFailedPrecondition, "the key is encrypted");
  }
  if (given.asked_for) {
    return Error(StatusCode::kUnauthenticated,
                 bad_decrypt ? "wrong passphrase" : "wrong passphrase, or the file is damaged");
  }
  return Error(StatusCode::kInvalidArgument, "not a private key in OpenSSH, PEM or PKCS#8 format");
}

bool LooksLikePublicKey(std::string_view text) {
  if (text.starts_with("-----BEGIN PUBLIC KEY") || text.starts_with("---- BEGIN SSH2 PUBLIC")) {
    return true;
  }
  return ParsePublicKeyLine(text.substr(0, text.find('\n'))).has_value();
}

// Why the file cannot be used whatever is in it.
Status CheckFile(const std::string& path, struct stat& info) {
  constexpr char kRemedy[] =
      "check key_file in the spec; it is a path on the chief, and must be readable by you";
  if (stat(path.c_str(), &info) != 0) return WithRemedy(ErrnoError(errno, path), kRemedy);
  if (S_ISREG(info.st_mode)) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument, path + ": not a file"), kRemedy);
}

// As ssh has it: others may do nothing with a file of ours; those of others are their business.
Status CheckMode(const std::string& path, const struct stat& info) {
  if (info.st_uid != getuid() || (info.st_mode & 077) == 0) return OkStatus();
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777);
  return WithRemedy(
      Error(StatusCode::kPermissionDenied,
            "key file " + path + " is too open: mode " + mode + " lets others use it"),
      "chmod 600 " + path);
}

// The remedy for a text that is not a private key.
std::string WrongFileRemedy(std::string_view text) {
  if (text.starts_with("PuTTY-User-Key-File")) {
    return "it is a key in PuTTY's format; convert it with puttygen -O private-openssh";
  }
  return "give the private key (not the .pub file)";
}

}  // namespace

Result<KeyFile> KeyFile::Read(const std::string& path) {
  constexpr char kWhat[] = "key file";
  struct stat info {};
  if (const Status usable = CheckFile(path, info); !usable.ok()) return Annotate(usable, kWhat);
  KeyFile file;
  file.path_ = path;
  auto text = base::ReadFile(path, kLargestKeyFile);
  if (!text.ok()) {
    return WithRemedy(Annotate(text.status(), kWhat), "the file must be readable by you");
  }
  file.text_ = *std::move(text);
  if (LooksLikePublicKey(file.text_)) {
    return WithRemedy(Error(StatusCode::kInvalidArgument,
                            "key file " + path + " is a public key, not a private key"),
                      "give the private key, the file without .pub");
  }
  AD_RETURN_IF_ERROR(CheckMode(path, info));

  const std::string where = std::string(kWhat) + " " + path;
  file.openssh_format_ = file.text_.find(kOpensshBegin) != std::string::npos;
  if (file.openssh_format_) {
    const auto key = OpensshKey::Parse(file.text_);
    if (!key.ok()) {
      return WithRemedy(Annotate(key.status(), where), "make a new copy of it, or a new key");
    }
    file.encrypted_ = key->encrypted();
    file.public_blob_ = key->public_blob();
    if (IsSecurityKey(file.public_blob_)) {
      return WithRemedy(
          Error(StatusCode::kUnimplemented, where + " belongs to a security key, which only ssh "
                                                    "itself can use"),
          "use a key that is not on a security key");
    }
    return file;
  }
  const auto key = ParsePem(file.text_, "");
  if (key.ok()) {
    file.public_blob_ = PublicBlob(*key);
  } else if (key.status().code() == StatusCode::kFailedPrecondition) {
    file.encrypted_ = true;
    file.public_blob_ = ReadPublicKeyFile(path + ".pub").value_or("");
  } else {
    return WithRemedy(Annotate(key.status(), where), WrongFileRemedy(file.text_));
  }
  return file;
}

Result<EvpKey> KeyFile::Unlock(const AskPassphrase& ask) const {
  if (!encrypted_) return Decrypt("");
  Status failure;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    auto passphrase = ask ? ask(path_, attempt) : std::nullopt;
    if (!passphrase || passphrase->empty()) break;
    const CleanseAtEnd cleanse(*passphrase);
    auto key = Decrypt(*passphrase);
    if (key.status().code() != StatusCode::kUnauthenticated) return key;
    failure = key.status();
  }
  if (!failure.ok()) return failure;
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            "key file " + path_ + " is encrypted, and no passphrase was given"),
      "run ssh-add " + path_ + " first, or start from a terminal, where you are asked for it");
}

Result<EvpKey> KeyFile::Decrypt(std::string_view passphrase) const {
  const std::string where = "key file " + path_;
  Result<EvpKey> key = Status(StatusCode::kInternal, "");
  if (openssh_format_) {
    AD_ASSIGN_OR_RETURN(const OpensshKey file, OpensshKey::Parse(text_));
    key = file.Decrypt(passphrase);
  } else {
    key = ParsePem(text_, passphrase);
  }
  if (!key.ok()) {
    const Status failure = Annotate(key.status(), where);
    if (!Remedy(failure).empty()) return failure;
    switch (failure.code()) {
      case StatusCode::kUnauthenticated:
        return WithRemedy(failure,
                          "ssh-keygen -y -f " + path_ + " tells whether a passphrase fits");
      case StatusCode::kNotFound:
        return WithRemedy(Error(StatusCode::kInvalidArgument, Message(failure)),
                          "use an Ed25519, ECDSA or RSA key");
      default:
        return WithRemedy(failure, "make a new copy of it, or a new key");
    }
  }
  if (PublicBlob(*key).empty()) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, where + ": SSH has no keys of this kind"),
                      "use an Ed25519, ECDSA or RSA key");
  }
  return key;
}

}  // namespace autodist::transport
