#include "transport/openssh_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "transport/ssh_wire.h"

namespace autodist::transport {
namespace {

using EvpKey = std::shared_ptr<EVP_PKEY>;

constexpr std::string_view kOpensshEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic("openssh-key-v1\0", 15);

Status Malformed() { return Error(StatusCode::kInvalidArgument, "the key file is damaged"); }

Result<std::string> DecodeBody(std::string_view text) {
  const size_t begin = text.find(kOpensshBegin);
  const size_t end = text.find(kOpensshEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return Malformed();
  }
  std::string base64(text.substr(begin + kOpensshBegin.size(), end - begin - kOpensshBegin.size()));
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  std::string bytes(base64.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                   reinterpret_cast<const unsigned char*>(base64.data()),
                                   static_cast<int>(base64.size()));
  if (size < 0) return Malformed();
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

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
      return Malformed();
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
  if (!reader.ok() || both.size() != 2 * kSeed) return Malformed();
  EVP_PKEY* key = EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(both.data()), kSeed);
  if (!key) return Malformed();
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
  if (!reader.ok() || name == std::end(names)) return Malformed();
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
  if (!reader.ok()) return Malformed();
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

}  // namespace

Result<EvpKey> ParseOpensshKey(std::string_view text) {
  AD_ASSIGN_OR_RETURN(const std::string body, DecodeBody(text));
  if (!body.starts_with(kMagic)) return Malformed();
  WireReader outer(std::string_view(body).substr(kMagic.size()));
  const std::string_view cipher = outer.String();
  outer.String();  // key derivation function
  outer.String();  // and its options
  const uint32_t keys = outer.Number();
  outer.String();  // public key
  const std::string_view secret = outer.String();
  if (!outer.ok() || keys != 1) return Malformed();
  if (cipher != "none") return Error(StatusCode::kFailedPrecondition, "the key is encrypted");

  WireReader inner(secret);
  if (inner.Number() != inner.Number()) return Malformed();
  const std::string_view type = inner.String();
  if (type == "ssh-ed25519") return ReadEd25519(inner);
  if (type == "ssh-rsa") return ReadRsa(inner);
  if (type.starts_with("ecdsa-sha2-")) return ReadEcdsa(inner);
  return Error(StatusCode::kInvalidArgument,
               "keys of type '" + std::string(type) + "' are not supported");
}

}  // namespace autodist::transport
