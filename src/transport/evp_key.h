// Private keys as OpenSSL holds them, in the terms of SSH: Ed25519, ECDSA (nistp256, 384, 521) and
// RSA.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "transport/ssh_wire.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace autodist::transport {

// Safe to use from several threads once made.
using EvpKey = std::shared_ptr<evp_pkey_st>;

// A private key from the fields that follow the name of its type in OpenSSH's files. kNotFound if
// there are no keys of this type, kInvalidArgument if the fields are not those of one.
Result<EvpKey> ReadPrivateKey(std::string_view type, WireReader& reader);

// The public key as it travels on the wire; "" if SSH has no keys of this kind.
std::string PublicBlob(const EvpKey& key);

// The signature proper, without the name of the algorithm. `algorithm` is one of plain keys, such
// as "rsa-sha2-512".
Result<std::string> Sign(const EvpKey& key, std::string_view algorithm, std::string_view data);

}  // namespace autodist::transport
