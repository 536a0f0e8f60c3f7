#include "ssh/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "ssh/private_key.h"
#include "ssh/ssh_public_key.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

constexpr size_t kLargestKeyFile = 1 << 20;
constexpr std::string_view kOpensshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kOpensshEnd = "-----END OPENSSH PRIVATE KEY-----";

bool LooksLikePublicKey(std::string_view text) {
  if (text.starts_with("-----BEGIN PUBLIC KEY") || text.starts_with("---- BEGIN SSH2 PUBLIC")) {
    return true;
  }
  return ParsePublicKeyLine(text.substr(0, text.find('\n'))).has_value();
}

// Checks the file, whatever the contents.
Status CheckFile(const std::string& path, struct stat& info) {
  constexpr char kRemedy[] =
      "check key_file in the spec; it is a path on this machine, and must be readable by you";
  if (stat(path.c_str(), &info) != 0) return WithRemedy(ErrnoError(errno, path), kRemedy);
  if (S_ISREG(info.st_mode)) return OkStatus();
  return WithRemedy(Error(StatusCode::kInvalidArgument, path + ": not a file"), kRemedy);
}

// Checks the mode as ssh does: a file of ours must not be accessible to others; files of other
// users are not checked.
Status CheckMode(const std::string& path, const struct stat& info) {
  if (info.st_uid != getuid() || (info.st_mode & 077) == 0) return OkStatus();
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777);
  return WithRemedy(
      Error(StatusCode::kPermissionDenied,
            "key file " + path + " is too open: mode " + mode + " lets others use it"),
      "chmod 600 " + path);
}

// PROTOCOL.key in the OpenSSH source describes the format.
Status ReadOpenssh(const std::string& text, KeyFile& file) {
  constexpr std::string_view kMagic("openssh-key-v1\0", 15);
  Status damaged = Error(StatusCode::kInvalidArgument, "the key file is damaged");
  const size_t begin = text.find(kOpensshBegin) + kOpensshBegin.size();
  const size_t end = text.find(kOpensshEnd);
  if (end == std::string::npos || end < begin) return damaged;
  const auto body = DecodeBase64(std::string_view(text).substr(begin, end - begin));
  if (!body || !body->starts_with(kMagic)) return damaged;

  WireReader reader(std::string_view(*body).substr(kMagic.size()));
  const bool encrypted = reader.String() != "none";
  reader.String();  // the key derivation function
  reader.String();  // its parameters
  const uint32_t keys = reader.Number();
  file.public_blob = reader.String();
  const std::string_view secret = reader.String();
  if (!reader.ok() || keys != 1) return damaged;
  if (IsSecurityKey(file.public_blob)) {
    return WithRemedy(Error(StatusCode::kUnimplemented,
                            "it belongs to a security key, which only ssh itself can use"),
                      "use a key that is not on a security key");
  }
  if (encrypted) return OkStatus();
  AD_ASSIGN_OR_RETURN(file.key, PrivateKey::FromOpenssh(secret, file.public_blob, file.path));
  return OkStatus();
}

Status ReadPem(const std::string& text, KeyFile& file) {
  if (text.find("PRIVATE KEY-----") == std::string::npos) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "not a private key in OpenSSH, PEM or PKCS#8 format"),
        text.starts_with("PuTTY-User-Key-File")
            ? "it is a key in PuTTY's format; convert it with puttygen -O private-openssh"
            : "give the private key (not the .pub file)");
  }
  if (text.find("ENCRYPTED") != std::string::npos) {  // not part of the base64 of a key
    file.public_blob = ReadPublicKeyFile(file.path + ".pub").value_or("");
    return OkStatus();
  }
  AD_ASSIGN_OR_RETURN(file.key, PrivateKey::FromPem(text, file.path));
  file.public_blob = file.key->public_blob();
  return OkStatus();
}

}  // namespace

Result<KeyFile> ReadKeyFile(const std::string& path) {
  const std::string what = "key file " + path;
  struct stat info {};
  if (const Status usable = CheckFile(path, info); !usable.ok()) {
    return Annotate(usable, "key file");
  }
  const auto text = base::ReadFile(path, kLargestKeyFile);
  if (!text.ok()) {
    return WithRemedy(Annotate(text.status(), "key file"), "the file must be readable by you");
  }
  if (LooksLikePublicKey(*text)) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, what + " is a public key, not a private key"),
        "give the private key, the file without .pub");
  }
  AD_RETURN_IF_ERROR(CheckMode(path, info));
  KeyFile file{.path = path, .public_blob = "", .key = nullptr};
  const bool openssh = text->find(kOpensshBegin) != std::string::npos;
  const Status read = openssh ? ReadOpenssh(*text, file) : ReadPem(*text, file);
  if (read.ok()) return file;
  const Status failure = Annotate(read, what);
  return Remedy(failure).empty() ? WithRemedy(failure, "make a new copy of it, or a new key")
                                 : failure;
}

}  // namespace autodist::ssh
