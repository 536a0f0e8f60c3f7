#include "transport/ssh_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>

#include "base/fd.h"
#include "transport/openssh_key.h"
#include "transport/ssh_wire.h"

namespace autodist::transport {
namespace {

using EvpKey = std::shared_ptr<EVP_PKEY>;

constexpr size_t kLargestKeyFile = 1 << 20;

int RefusePassphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

Result<EvpKey> ParsePem(const std::string& text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  bool asked = false;
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, RefusePassphrase, &asked);
  ERR_clear_error();
  if (asked) return Error(StatusCode::kFailedPrecondition, "the key is encrypted");
  if (!key) {
    return Error(StatusCode::kInvalidArgument,
                 "this is not a private key in OpenSSH, PEM or PKCS#8 format");
  }
  return EvpKey(key, EVP_PKEY_free);
}

std::string BigNumberBytes(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return "";
  std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  BN_free(number);
  return bytes;
}

// "nistp256" of OpenSSL's "prime256v1"; "" for curves that SSH does not have.
std::string SshCurve(const EVP_PKEY* key) {
  char name[64] = "";
  EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, nullptr);
  const std::string_view group = name;
  if (group == "prime256v1") return "nistp256";
  if (group == "secp384r1") return "nistp384";
  if (group == "secp521r1") return "nistp521";
  return "";
}

std::string PublicBlob(EVP_PKEY* key) {
  std::string blob;
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519: {
      std::array<unsigned char, 32> raw;
      size_t size = raw.size();
      EVP_PKEY_get_raw_public_key(key, raw.data(), &size);
      AppendString(blob, "ssh-ed25519");
      AppendString(blob, {reinterpret_cast<const char*>(raw.data()), size});
      break;
    }
    case EVP_PKEY_RSA:
      AppendString(blob, "ssh-rsa");
      AppendBigNumber(blob, BigNumberBytes(key, OSSL_PKEY_PARAM_RSA_E));
      AppendBigNumber(blob, BigNumberBytes(key, OSSL_PKEY_PARAM_RSA_N));
      break;
    case EVP_PKEY_EC: {
      const std::string curve = SshCurve(key);
      if (curve.empty()) break;
      EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
                                     "uncompressed");
      std::array<unsigned char, 256> point;
      size_t size = 0;
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(),
                                      &size);
      AppendString(blob, "ecdsa-sha2-" + curve);
      AppendString(blob, curve);
      AppendString(blob, {reinterpret_cast<const char*>(point.data()), size});
      break;
    }
    default:
      break;
  }
  return blob;
}

const EVP_MD* DigestOf(std::string_view algorithm) {
  if (algorithm == "ssh-rsa") return EVP_sha1();
  if (algorithm == "rsa-sha2-256" || algorithm == "ecdsa-sha2-nistp256") return EVP_sha256();
  if (algorithm == "ecdsa-sha2-nistp384") return EVP_sha384();
  if (algorithm == "rsa-sha2-512" || algorithm == "ecdsa-sha2-nistp521") return EVP_sha512();
  return nullptr;  // Ed25519 has its own
}

// OpenSSL's DER form of an ECDSA signature as the two numbers that SSH wants (RFC 5656, 3.1.2).
std::string EcdsaSignature(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), ECDSA_SIG_free);
  std::string blob;
  if (!signature) return blob;
  for (const BIGNUM* number :
       {ECDSA_SIG_get0_r(signature.get()), ECDSA_SIG_get0_s(signature.get())}) {
    std::string raw(static_cast<size_t>(BN_num_bytes(number)), '\0');
    BN_bn2bin(number, reinterpret_cast<unsigned char*>(raw.data()));
    AppendBigNumber(blob, raw);
  }
  return blob;
}

}  // namespace

Result<std::shared_ptr<const SshKey>> SshKey::Load(const std::string& path) {
  const auto text = base::ReadFile(path, kLargestKeyFile);
  if (!text.ok()) {
    return WithRemedy(Annotate(text.status(), "key file"),
                      "check key_file in the spec; it is a path on the chief, and must be readable "
                      "by you");
  }
  const auto key =
      text->find(kOpensshBegin) != std::string::npos ? ParseOpensshKey(*text) : ParsePem(*text);
  if (!key.ok()) {
    const bool encrypted = key.status().code() == StatusCode::kFailedPrecondition;
    return WithRemedy(Annotate(key.status(), "key file " + path),
                      encrypted ? "use a key without a passphrase (ssh-keygen -p removes it)"
                                : "give the private key (not the .pub file)");
  }
  std::string blob = PublicBlob(key->get());
  if (blob.empty()) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "key file " + path + ": SSH has no keys of this kind"),
        "use an Ed25519, ECDSA or RSA key");
  }
  return std::shared_ptr<const SshKey>(new SshKey(*key, std::move(blob)));
}

Result<std::string> SshKey::SignRequest(std::string_view request) const {
  WireReader reader(request);
  reader.String();  // session id
  reader.Bytes(1);  // SSH_MSG_USERAUTH_REQUEST
  reader.String();  // user
  reader.String();  // service
  reader.String();  // "publickey"
  reader.Bytes(1);  // TRUE: signed
  const std::string_view algorithm = reader.String();
  if (!reader.ok()) return Error(StatusCode::kInternal, "malformed signing request");

  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const auto* data = reinterpret_cast<const unsigned char*>(request.data());
  size_t size = 0;
  std::string signature;
  if (EVP_DigestSignInit(context.get(), nullptr, DigestOf(algorithm), nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, data, request.size()) != 1) {
    return Error(StatusCode::kInternal, "OpenSSL cannot sign with " + std::string(algorithm));
  }
  signature.resize(size);
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data,
                     request.size()) != 1) {
    return Error(StatusCode::kInternal, "OpenSSL cannot sign with " + std::string(algorithm));
  }
  signature.resize(size);
  return EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_EC ? EcdsaSignature(signature) : signature;
}

}  // namespace autodist::transport
