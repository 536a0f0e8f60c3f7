#include "transport/openssh_key.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "transport/bcrypt_pbkdf.h"
#include "transport/cleanse.h"
#include "transport/ssh_public_key.h"

namespace autodist::transport {
namespace {

constexpr std::string_view kOpensshEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic("openssh-key-v1\0", 15);
// ssh-keygen's default is 16; more than this, a minute's work, are not asked for.
constexpr uint32_t kMostRounds = 10'000;

Status Damaged() { return Error(StatusCode::kInvalidArgument, "the key file is damaged"); }
Status WrongPassphrase() { return Error(StatusCode::kUnauthenticated, "wrong passphrase"); }

struct Cipher {
  std::string_view name;
  const char* openssl_name;
  size_t key_size;
  size_t iv_size;
  size_t block_size;
  size_t tag_size;
};

constexpr std::string_view kChaCha = "chacha20-poly1305@openssh.com";
constexpr Cipher kCiphers[] = {
    {"aes256-ctr", "AES-256-CTR", 32, 16, 16, 0},
    {"aes192-ctr", "AES-192-CTR", 24, 16, 16, 0},
    {"aes128-ctr", "AES-128-CTR", 16, 16, 16, 0},
    {"aes256-cbc", "AES-256-CBC", 32, 16, 16, 0},
    {"aes192-cbc", "AES-192-CBC", 24, 16, 16, 0},
    {"aes128-cbc", "AES-128-CBC", 16, 16, 16, 0},
    {"3des-cbc", "DES-EDE3-CBC", 24, 8, 8, 0},
    {"aes256-gcm@openssh.com", "AES-256-GCM", 32, 12, 16, 16},
    {"aes128-gcm@openssh.com", "AES-128-GCM", 16, 12, 16, 16},
    {kChaCha, "ChaCha20", 64, 0, 8, 16},
};

const Cipher* FindCipher(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kCiphers), std::end(kCiphers),
                   [name](const Cipher& cipher) { return cipher.name == name; });
  return found == std::end(kCiphers) ? nullptr : found;
}

const unsigned char* Data(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

// Nothing if `tag`, where there is one, does not fit.
std::optional<std::string> RunCipher(const char* name, std::string_view key, std::string_view iv,
                                     std::string_view tag, std::string_view input) {
  const std::unique_ptr<EVP_CIPHER, decltype(&EVP_CIPHER_free)> cipher(
      EVP_CIPHER_fetch(nullptr, name, nullptr), EVP_CIPHER_free);
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (!cipher ||
      EVP_DecryptInit_ex2(context.get(), cipher.get(), Data(key), Data(iv), nullptr) != 1) {
    return std::nullopt;
  }
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  if (!tag.empty() &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(tag.size()),
                          const_cast<char*>(tag.data())) != 1) {
    return std::nullopt;
  }
  std::string output(input.size(), '\0');
  auto* to = reinterpret_cast<unsigned char*>(output.data());
  int size = 0;
  int last = 0;
  if (EVP_DecryptUpdate(context.get(), to, &size, Data(input), static_cast<int>(input.size())) !=
          1 ||
      EVP_DecryptFinal_ex(context.get(), to + size, &last) != 1) {
    OPENSSL_cleanse(output.data(), output.size());
    return std::nullopt;
  }
  return output;
}

// The first half of the key is the cipher's, the second would encrypt lengths, which files do not
// have. Block 0 of the key stream is the key of Poly1305 (PROTOCOL.chacha20poly1305).
std::optional<std::string> RunChaCha(const Cipher& cipher, std::string_view key,
                                     std::string_view tag, std::string_view input) {
  constexpr size_t kHalf = 32;
  constexpr size_t kIvSize = 16;  // block number, little-endian, and nonce
  std::string iv(kIvSize, '\0');
  auto tag_key =
      RunCipher(cipher.openssl_name, key.substr(0, kHalf), iv, "", std::string(kHalf, '\0'));
  if (!tag_key) return std::nullopt;
  const CleanseAtEnd cleanse(*tag_key);
  const std::string_view mac_key = *tag_key;
  std::string computed(cipher.tag_size, '\0');
  size_t size = 0;
  if (!EVP_Q_mac(nullptr, "POLY1305", nullptr, nullptr, nullptr, mac_key.data(), mac_key.size(),
                 Data(input), input.size(), reinterpret_cast<unsigned char*>(computed.data()),
                 computed.size(), &size) ||
      CRYPTO_memcmp(computed.data(), tag.data(), tag.size()) != 0) {
    return std::nullopt;
  }
  iv[0] = 1;
  return RunCipher(cipher.openssl_name, key.substr(0, kHalf), iv, "", input);
}

// `secret` is what is left once decrypted: a number twice, which tells whether the passphrase was
// the right one, the key, and padding.
Result<EvpKey> ReadSecret(std::string_view secret, bool encrypted, std::string_view public_blob) {
  WireReader reader(secret);
  const uint32_t first = reader.Number();
  if (first != reader.Number() || !reader.ok()) return encrypted ? WrongPassphrase() : Damaged();
  const std::string_view type = reader.String();
  auto key = ReadPrivateKey(type, reader);
  ERR_clear_error();
  if (!key.ok()) {
    return key.status().code() == StatusCode::kNotFound && type == WireReader(public_blob).String()
               ? key.status()
               : Damaged();
  }
  if (PublicBlob(*key) != public_blob) return Damaged();
  return key;
}

}  // namespace

Result<OpensshKey> OpensshKey::Parse(std::string_view text) {
  const size_t begin = text.find(kOpensshBegin);
  const size_t end = text.find(kOpensshEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return Damaged();
  }
  std::string base64(text.substr(begin + kOpensshBegin.size(), end - begin - kOpensshBegin.size()));
  const CleanseAtEnd cleanse_base64(base64);
  std::erase_if(base64, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  auto body = DecodeBase64(base64);
  if (!body || !body->starts_with(kMagic)) return Damaged();
  const CleanseAtEnd cleanse_body(*body);

  OpensshKey key;
  WireReader outer(std::string_view(*body).substr(kMagic.size()));
  key.cipher_ = outer.String();
  key.derivation_ = outer.String();
  WireReader derivation(outer.String());
  const uint32_t keys = outer.Number();
  key.public_blob_ = outer.String();
  key.secret_ = outer.String();
  key.tag_ = outer.rest();
  if (!outer.ok() || keys != 1) return Damaged();
  if (key.encrypted()) {
    key.salt_ = derivation.String();
    key.rounds_ = derivation.Number();
  }
  return key;
}

Result<EvpKey> OpensshKey::Decrypt(std::string_view passphrase) const {
  if (!encrypted()) return ReadSecret(secret_, false, public_blob_);
  const Cipher* cipher = FindCipher(cipher_);
  if (!cipher || derivation_ != "bcrypt") {
    return WithRemedy(
        Error(StatusCode::kUnimplemented, "the key is encrypted in a way that is not supported: " +
                                              (cipher ? derivation_ : cipher_)),
        "use ssh-agent (ssh-add), or encrypt it anew with ssh-keygen -p -Z aes256-ctr");
  }
  if (salt_.empty() || rounds_ == 0 || rounds_ > kMostRounds || secret_.empty() ||
      secret_.size() % cipher->block_size != 0 || tag_.size() != cipher->tag_size) {
    return Damaged();
  }
  std::string key = BcryptPbkdf(passphrase, salt_, rounds_, cipher->key_size + cipher->iv_size);
  const CleanseAtEnd cleanse_key(key);
  const std::string_view cipher_key = std::string_view(key).substr(0, cipher->key_size);
  const std::string_view iv = std::string_view(key).substr(cipher->key_size);
  auto secret = cipher->name == kChaCha
                    ? RunChaCha(*cipher, cipher_key, tag_, secret_)
                    : RunCipher(cipher->openssl_name, cipher_key, iv, tag_, secret_);
  ERR_clear_error();
  if (!secret) return WrongPassphrase();
  const CleanseAtEnd cleanse_secret(*secret);
  return ReadSecret(*secret, true, public_blob_);
}

}  // namespace autodist::transport
