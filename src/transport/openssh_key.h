// OpenSSH's own format for private keys, which OpenSSL does not read
// (format: PROTOCOL.key in the OpenSSH source).
#pragma once

#include <memory>
#include <string_view>

#include "autodist/status.h"

struct evp_pkey_st;

namespace autodist::transport {

inline constexpr std::string_view kOpensshBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";

// `text` is the whole file. Fails with kFailedPrecondition if the key is encrypted.
Result<std::shared_ptr<evp_pkey_st>> ParseOpensshKey(std::string_view text);

}  // namespace autodist::transport
