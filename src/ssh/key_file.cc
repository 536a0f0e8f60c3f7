#include "ssh/key_file.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "ssh/ssh_public_key.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

using Key = std::shared_ptr<EVP_PKEY>;

// A user's private key in memory: read once, then used to sign for any number of logins. libssh2
// would read it again for each login on the thread that all logins share, which costs 0.5 ms, and
// 10 ms for an RSA key of 4096 bits.
// Ed25519, ECDSA (nistp256, 384, 521) or RSA. Immutable and thread-safe.
class PrivateKey final : public SshIdentity {
 public:
  // Parses an unencrypted file in PEM or PKCS#8. `path` is for messages.
  static Result<std::shared_ptr<const PrivateKey>> FromPem(const std::string& text,
                                                           const std::string& path);
  // Parses the decrypted private section of a file in OpenSSH's format.
  static Result<std::shared_ptr<const PrivateKey>> FromOpenssh(std::string_view secret,
                                                               std::string_view public_blob,
                                                               const std::string& path);

  const std::string& public_blob() const override { return public_blob_; }
  const std::string& description() const override { return path_; }
  bool slow() const override { return false; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override;

 private:
  friend Result<std::shared_ptr<const PrivateKey>> MakePrivateKey(const Key& key,
                                                                  const std::string& path);
  PrivateKey(Key key, std::string public_blob, std::string path)
      : key_(std::move(key)), public_blob_(std::move(public_blob)), path_(std::move(path)) {}

  const Key key_;
  const std::string public_blob_;
  const std::string path_;
};

using BigNumber = std::shared_ptr<BIGNUM>;

Key Own(EVP_PKEY* key) { return key ? Key(key, EVP_PKEY_free) : nullptr; }

const unsigned char* Data(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

BigNumber ToBigNumber(std::string_view bytes) {
  return {BN_bin2bn(Data(bytes), static_cast<int>(bytes.size()), nullptr), BN_clear_free};
}

void AppendNumber(std::string& to, const BIGNUM* number) {
  std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  AppendBigNumber(to, bytes);
}

struct Curve {
  std::string_view ssh_name;
  const char* openssl_name;
};
constexpr Curve kCurves[] = {
    {"nistp256", "prime256v1"}, {"nistp384", "secp384r1"}, {"nistp521", "secp521r1"}};

struct Algorithm {
  std::string_view name;
  int key_type;
  const EVP_MD* (*digest)();
};
constexpr Algorithm kAlgorithms[] = {
    {"ssh-ed25519", EVP_PKEY_ED25519, nullptr},  // has a built-in digest
    {"ecdsa-sha2-nistp256", EVP_PKEY_EC, EVP_sha256},
    {"ecdsa-sha2-nistp384", EVP_PKEY_EC, EVP_sha384},
    {"ecdsa-sha2-nistp521", EVP_PKEY_EC, EVP_sha512},
    {"rsa-sha2-512", EVP_PKEY_RSA, EVP_sha512},
    {"rsa-sha2-256", EVP_PKEY_RSA, EVP_sha256},
    {"ssh-rsa", EVP_PKEY_RSA, EVP_sha1},
};

// Builds a key from OpenSSL parameters, each a name and a number; null if they are invalid.
using Numbers = std::vector<std::pair<const char*, BigNumber>>;
Key Build(const char* type, const Numbers& numbers, const char* group = nullptr,
          std::string_view point = {}) {
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder(
      OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  for (const auto& [name, number] : numbers) {
    if (!number) return nullptr;
    OSSL_PARAM_BLD_push_BN(builder.get(), name, number.get());
  }
  if (group) {
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
  }
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(
      OSSL_PARAM_BLD_to_param(builder.get()), OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) <= 0 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) <= 0) {
    return nullptr;
  }
  return Own(key);
}

// Returns exponent mod (prime - 1), or null for an invalid prime.
BigNumber ModuloOneLess(const BigNumber& exponent, const BigNumber& prime) {
  const BigNumber modulus(BN_dup(prime.get()), BN_clear_free);
  BigNumber rest(BN_new(), BN_clear_free);
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  if (BN_is_zero(modulus.get()) || !BN_sub_word(modulus.get(), 1) || BN_is_zero(modulus.get()) ||
      !BN_mod(rest.get(), exponent.get(), modulus.get(), context.get())) {
    return nullptr;
  }
  return rest;
}

Key ReadEd25519(WireReader& reader) {
  constexpr size_t kSeed = 32;
  reader.String();  // the public key, which the seed's blob repeats
  const std::string_view both = reader.String();
  if (!reader.ok() || both.size() != 2 * kSeed) return nullptr;
  return Own(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Data(both), kSeed));
}

Key ReadEcdsa(WireReader& reader) {
  const std::string_view curve = reader.String();
  const std::string_view point = reader.String();
  const BigNumber secret = ToBigNumber(reader.String());
  const auto* const known = std::ranges::find(kCurves, curve, &Curve::ssh_name);
  if (!reader.ok() || known == std::end(kCurves)) return nullptr;
  return Build("EC", {{OSSL_PKEY_PARAM_PRIV_KEY, secret}}, known->openssl_name, point);
}

Key ReadRsa(WireReader& reader) {
  BigNumber n, e, d, inverse, p, q;
  for (BigNumber* number : {&n, &e, &d, &inverse, &p, &q}) *number = ToBigNumber(reader.String());
  if (!reader.ok()) return nullptr;
  // The primes make signing four times faster.
  return Build("RSA", {{OSSL_PKEY_PARAM_RSA_N, n},
                       {OSSL_PKEY_PARAM_RSA_E, e},
                       {OSSL_PKEY_PARAM_RSA_D, d},
                       {OSSL_PKEY_PARAM_RSA_FACTOR1, p},
                       {OSSL_PKEY_PARAM_RSA_FACTOR2, q},
                       {OSSL_PKEY_PARAM_RSA_EXPONENT1, ModuloOneLess(d, p)},
                       {OSSL_PKEY_PARAM_RSA_EXPONENT2, ModuloOneLess(d, q)},
                       {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, inverse}});
}

// Returns "" if SSH has no keys of this kind.
std::string PublicBlob(EVP_PKEY* key) {
  std::string blob;
  const int type = EVP_PKEY_get_base_id(key);
  if (type == EVP_PKEY_RSA) {
    AppendString(blob, "ssh-rsa");
    for (const char* name : {OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_N}) {
      BIGNUM* number = nullptr;
      EVP_PKEY_get_bn_param(key, name, &number);
      AppendNumber(blob, number);
      BN_free(number);
    }
    return blob;
  }
  if (type == EVP_PKEY_ED25519) {
    AppendString(blob, "ssh-ed25519");
  } else if (type == EVP_PKEY_EC) {
    char name[64] = "";
    EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, nullptr);
    const auto* const known = std::ranges::find_if(
        kCurves, [&](const Curve& curve) { return std::string_view(name) == curve.openssl_name; });
    if (known == std::end(kCurves)) return "";
    AppendString(blob, "ecdsa-sha2-" + std::string(known->ssh_name));
    AppendString(blob, known->ssh_name);
    EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed");
  } else {
    return "";
  }
  std::array<unsigned char, 256> raw;
  size_t size = 0;
  EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, raw.data(), raw.size(), &size);
  AppendString(blob, {reinterpret_cast<const char*>(raw.data()), size});
  return blob;
}

// Converts an ECDSA signature from OpenSSL's DER form to SSH's two numbers (RFC 5656, 3.1.2).
std::string EcdsaSignature(const std::string& der) {
  const unsigned char* bytes = Data(der);
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), ECDSA_SIG_free);
  std::string blob;
  AppendNumber(blob, ECDSA_SIG_get0_r(signature.get()));
  AppendNumber(blob, ECDSA_SIG_get0_s(signature.get()));
  return blob;
}

Status NotOfSsh(const std::string& what) {
  return WithRemedy(Error(StatusCode::kInvalidArgument, what), "use an Ed25519, ECDSA or RSA key");
}

Result<std::shared_ptr<const PrivateKey>> MakePrivateKey(const Key& key, const std::string& path) {
  ERR_clear_error();
  if (!key) return Error(StatusCode::kInvalidArgument, "the key file is damaged");
  std::string public_blob = PublicBlob(key.get());
  if (public_blob.empty()) return NotOfSsh("SSH has no keys of this kind");
  return std::shared_ptr<const PrivateKey>(new PrivateKey(key, std::move(public_blob), path));
}

Result<std::shared_ptr<const PrivateKey>> PrivateKey::FromPem(const std::string& text,
                                                              const std::string& path) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  char no_passphrase[] = "";  // otherwise OpenSSL would ask for one
  return MakePrivateKey(Own(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, no_passphrase)),
                        path);
}

Result<std::shared_ptr<const PrivateKey>> PrivateKey::FromOpenssh(std::string_view secret,
                                                                  std::string_view public_blob,
                                                                  const std::string& path) {
  WireReader reader(secret);
  reader.Number();  // repeated below, to detect a wrong passphrase
  reader.Number();
  const std::string_view type = reader.String();
  Key key;
  if (type == "ssh-ed25519") {
    key = ReadEd25519(reader);
  } else if (type == "ssh-rsa") {
    key = ReadRsa(reader);
  } else if (type.starts_with("ecdsa-sha2-")) {
    key = ReadEcdsa(reader);
  } else if (type == WireReader(public_blob).String()) {
    return NotOfSsh("keys of type '" + std::string(type) + "' are not supported");
  }
  if (key && PublicBlob(key.get()) != public_blob) key = nullptr;
  return MakePrivateKey(key, path);
}

Result<std::string> PrivateKey::SignRequest(std::string_view request,
                                            const std::stop_token&) const {
  AD_ASSIGN_OR_RETURN(const std::string algorithm, SignatureAlgorithm(request));
  const Status failure = Error(StatusCode::kInternal, "OpenSSL cannot sign with " + algorithm);
  const auto* const known = std::ranges::find(kAlgorithms, algorithm, &Algorithm::name);
  if (known == std::end(kAlgorithms) || known->key_type != EVP_PKEY_get_base_id(key_.get())) {
    return failure;
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  size_t size = static_cast<size_t>(EVP_PKEY_get_size(key_.get()));
  std::string signature(size, '\0');
  if (EVP_DigestSignInit(context.get(), nullptr, known->digest ? known->digest() : nullptr, nullptr,
                         key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     Data(request), request.size()) != 1) {
    return failure;
  }
  signature.resize(size);
  return known->key_type == EVP_PKEY_EC ? EcdsaSignature(signature) : signature;
}

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
      "correct its path, which must be that of a file on this machine that you can read";
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
    return WithRemedy(Annotate(text.status(), "key file"), "make it readable for you");
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
