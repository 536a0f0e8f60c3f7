// Verifies what an identity signs, like a server.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <memory>
#include <string>
#include <string_view>

#include "ssh/ssh_wire.h"

namespace autodist::test {

// The data that is signed to log in, up to the field that names the algorithm.
inline std::string LoginRequest(const std::string& algorithm) {
  std::string request;
  ssh::AppendString(request, "session");
  request += '\x32';
  for (const char* field : {"user", "ssh-connection", "publickey"}) {
    ssh::AppendString(request, field);
  }
  request += '\x01';
  ssh::AppendString(request, algorithm);
  return request;
}

inline std::shared_ptr<BIGNUM> ToBigNumber(std::string_view bytes) {
  return {BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                    static_cast<int>(bytes.size()), nullptr),
          BN_free};
}

// Parses a public key in SSH's wire format to OpenSSL's.
inline std::shared_ptr<EVP_PKEY> PublicKey(std::string_view blob) {
  ssh::WireReader reader(blob);
  const std::string type(reader.String());
  if (type == "ssh-ed25519") {
    const std::string_view raw = reader.String();
    return {
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                    reinterpret_cast<const unsigned char*>(raw.data()), raw.size()),
        EVP_PKEY_free};
  }
  const std::string_view first = reader.String();
  const std::string_view second = reader.String();
  const std::shared_ptr<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new(), OSSL_PARAM_BLD_free);
  const auto e = ToBigNumber(first);
  const auto n = ToBigNumber(second);
  const bool rsa = type == "ssh-rsa";
  const std::string group = "P-" + std::string(first.substr(std::min<size_t>(5, first.size())));
  if (rsa) {
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  } else {
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group.c_str(), 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, second.data(),
                                     second.size());
  }
  const std::shared_ptr<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder.get()),
                                               OSSL_PARAM_free);
  const std::shared_ptr<EVP_PKEY_CTX> context(
      EVP_PKEY_CTX_new_from_name(nullptr, rsa ? "RSA" : "EC", nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  EVP_PKEY_fromdata_init(context.get());
  EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get());
  return {key, EVP_PKEY_free};
}

// Converts the two numbers of an ECDSA signature to OpenSSL's format.
inline std::string EcdsaDer(std::string_view signature) {
  ssh::WireReader reader(signature);
  const std::shared_ptr<ECDSA_SIG> numbers(ECDSA_SIG_new(), ECDSA_SIG_free);
  const std::string_view r = reader.String();
  const std::string_view s = reader.String();
  ECDSA_SIG_set0(numbers.get(), BN_dup(ToBigNumber(r).get()), BN_dup(ToBigNumber(s).get()));
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(numbers.get(), &der);
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

// Whether `signature` is one of `data` by the key with this public key and this algorithm.
inline bool Verifies(std::string_view blob, const std::string& algorithm, std::string_view data,
                     std::string_view signature) {
  const auto key = PublicKey(blob);
  if (!key) return false;
  const EVP_MD* digest = nullptr;
  if (algorithm.ends_with("256")) digest = EVP_sha256();
  if (algorithm.ends_with("384")) digest = EVP_sha384();
  if (algorithm.ends_with("512") || algorithm.ends_with("521")) digest = EVP_sha512();
  if (algorithm == "ssh-rsa") digest = EVP_sha1();
  const std::string proper =
      algorithm.starts_with("ecdsa") ? EcdsaDer(signature) : std::string(signature);
  const std::shared_ptr<EVP_MD_CTX> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(proper.data()),
                          proper.size(), reinterpret_cast<const unsigned char*>(data.data()),
                          data.size()) == 1;
}

}  // namespace autodist::test
