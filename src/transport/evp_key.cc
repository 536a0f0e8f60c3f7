#include "transport/evp_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace autodist::transport {
namespace {

Status DamagedKey() { return Error(StatusCode::kInvalidArgument, "the key is damaged"); }

using BigNumber = std::unique_ptr<BIGNUM, decltype(&BN_clear_free)>;

BigNumber ToBigNumber(std::string_view bytes) {
  return {BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()), nullptr),
          BN_clear_free};
}

// Builds a key of OpenSSL's from its parameters.
class KeyBuilder {
 public:
  KeyBuilder() : builder_(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free) {}

  void Number(const char* name, std::string_view bytes) {
    numbers_.push_back(ToBigNumber(bytes));
    OSSL_PARAM_BLD_push_BN(builder_.get(), name, numbers_.back().get());
  }
  void Text(const char* name, const char* value) {
    OSSL_PARAM_BLD_push_utf8_string(builder_.get(), name, value, 0);
  }
  void Bytes(const char* name, std::string_view bytes) {
    OSSL_PARAM_BLD_push_octet_string(builder_.get(), name, bytes.data(), bytes.size());
  }

  Result<EvpKey> Build(const char* type) {
    const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(
        OSSL_PARAM_BLD_to_param(builder_.get()), OSSL_PARAM_free);
    const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
        EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), EVP_PKEY_CTX_free);
    EVP_PKEY* key = nullptr;
    if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) <= 0 ||
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) <= 0) {
      return DamagedKey();
    }
    return EvpKey(key, EVP_PKEY_free);
  }

 private:
  std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder_;
  std::vector<BigNumber> numbers_;
};

// exponent mod (prime - 1)
std::string ModuloOneLess(std::string_view exponent, std::string_view prime) {
  const BigNumber value = ToBigNumber(exponent);
  const BigNumber modulus = ToBigNumber(prime);
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  if (BN_is_zero(modulus.get()) || !BN_sub_word(modulus.get(), 1) || BN_is_zero(modulus.get()) ||
      !BN_mod(value.get(), value.get(), modulus.get(), context.get())) {
    return "";
  }
  std::string bytes(static_cast<size_t>(BN_num_bytes(value.get())), '\0');
  BN_bn2bin(value.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

Result<EvpKey> ReadEd25519(WireReader& reader) {
  constexpr size_t kSeed = 32;
  reader.String();  // the public key, which follows the seed once more
  const std::string_view both = reader.String();
  if (!reader.ok() || both.size() != 2 * kSeed) return DamagedKey();
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(both.data()), kSeed);
  if (!key) return DamagedKey();
  return EvpKey(key, EVP_PKEY_free);
}

Result<EvpKey> ReadEcdsa(WireReader& reader) {
  const std::string curve(reader.String());
  const std::string_view point = reader.String();
  const std::string_view secret = reader.String();
  const std::pair<const char*, const char*> names[] = {
      {"nistp256", "prime256v1"}, {"nistp384", "secp384r1"}, {"nistp521", "secp521r1"}};
  const auto* const name = std::find_if(std::begin(names), std::end(names),
                                        [&](const auto& entry) { return entry.first == curve; });
  if (!reader.ok() || name == std::end(names)) return DamagedKey();
  KeyBuilder builder;
  builder.Text(OSSL_PKEY_PARAM_GROUP_NAME, name->second);
  builder.Bytes(OSSL_PKEY_PARAM_PUB_KEY, point);
  builder.Number(OSSL_PKEY_PARAM_PRIV_KEY, secret);
  return builder.Build("EC");
}

Result<EvpKey> ReadRsa(WireReader& reader) {
  const std::string_view n = reader.String();
  const std::string_view e = reader.String();
  const std::string_view d = reader.String();
  const std::string_view inverse = reader.String();
  const std::string_view p = reader.String();
  const std::string_view q = reader.String();
  if (!reader.ok()) return DamagedKey();
  KeyBuilder builder;
  builder.Number(OSSL_PKEY_PARAM_RSA_N, n);
  builder.Number(OSSL_PKEY_PARAM_RSA_E, e);
  builder.Number(OSSL_PKEY_PARAM_RSA_D, d);
  // With the primes signing is four times faster. OpenSSL wants d mod (p-1) and d mod (q-1) too.
  builder.Number(OSSL_PKEY_PARAM_RSA_FACTOR1, p);
  builder.Number(OSSL_PKEY_PARAM_RSA_FACTOR2, q);
  builder.Number(OSSL_PKEY_PARAM_RSA_EXPONENT1, ModuloOneLess(d, p));
  builder.Number(OSSL_PKEY_PARAM_RSA_EXPONENT2, ModuloOneLess(d, q));
  builder.Number(OSSL_PKEY_PARAM_RSA_COEFFICIENT1, inverse);
  return builder.Build("RSA");
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

struct Algorithm {
  std::string_view name;
  int key_type;
  const EVP_MD* (*digest)();
};

// Ed25519 has its own digest.
constexpr Algorithm kAlgorithms[] = {
    {"ssh-ed25519", EVP_PKEY_ED25519, nullptr},
    {"ecdsa-sha2-nistp256", EVP_PKEY_EC, EVP_sha256},
    {"ecdsa-sha2-nistp384", EVP_PKEY_EC, EVP_sha384},
    {"ecdsa-sha2-nistp521", EVP_PKEY_EC, EVP_sha512},
    {"rsa-sha2-512", EVP_PKEY_RSA, EVP_sha512},
    {"rsa-sha2-256", EVP_PKEY_RSA, EVP_sha256},
    {"ssh-rsa", EVP_PKEY_RSA, EVP_sha1},
};

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

std::string PublicBlob(const EvpKey& shared_key) {
  EVP_PKEY* key = shared_key.get();
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

Result<EvpKey> ReadPrivateKey(std::string_view type, WireReader& reader) {
  if (type == "ssh-ed25519") return ReadEd25519(reader);
  if (type == "ssh-rsa") return ReadRsa(reader);
  if (type.starts_with("ecdsa-sha2-")) return ReadEcdsa(reader);
  return Error(StatusCode::kNotFound, "keys of type '" + std::string(type) + "' are not supported");
}

Result<std::string> Sign(const EvpKey& key, std::string_view algorithm, std::string_view data) {
  const Status failure =
      Error(StatusCode::kInternal, "OpenSSL cannot sign with " + std::string(algorithm));
  const int type = EVP_PKEY_get_base_id(key.get());
  const auto* const entry = std::find_if(
      std::begin(kAlgorithms), std::end(kAlgorithms),
      [&](const Algorithm& known) { return known.name == algorithm && known.key_type == type; });
  if (entry == std::end(kAlgorithms)) return failure;
  const EVP_MD* digest = entry->digest ? entry->digest() : nullptr;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
  size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size()) != 1) {
    return failure;
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, data.size()) != 1) {
    return failure;
  }
  signature.resize(size);
  return type == EVP_PKEY_EC ? EcdsaSignature(signature) : signature;
}

}  // namespace autodist::transport
