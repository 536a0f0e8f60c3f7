#include "transport/bcrypt_pbkdf.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace autodist::transport {
namespace {

using BigNumber = std::unique_ptr<BIGNUM, decltype(&BN_clear_free)>;
using Sha512 = std::array<unsigned char, SHA512_DIGEST_LENGTH>;

constexpr size_t kRounds = 16;  // of Blowfish

struct Blowfish {
  std::array<uint32_t, kRounds + 2> p;
  std::array<std::array<uint32_t, 256>, 4> s;
};

// Blowfish starts from the fraction of pi.
constexpr int kPiWords = static_cast<int>(sizeof(Blowfish) / sizeof(uint32_t));
constexpr int kPiBits = 32 * kPiWords;
// For what the divisions cut off.
constexpr int kGuardBits = 64;

// arctan(1/divisor) * 2^(kPiBits + kGuardBits), by its power series.
BigNumber ArcTangent(uint32_t divisor) {
  BigNumber power(BN_new(), BN_clear_free);  // 1 / divisor^n
  BigNumber term(BN_new(), BN_clear_free);
  BigNumber sum(BN_new(), BN_clear_free);
  BN_set_bit(power.get(), kPiBits + kGuardBits);
  BN_div_word(power.get(), divisor);
  BN_copy(sum.get(), power.get());
  bool minus = true;
  for (BN_ULONG n = 3; !BN_is_zero(power.get()); n += 2, minus = !minus) {
    BN_div_word(power.get(), static_cast<BN_ULONG>(divisor) * divisor);
    BN_copy(term.get(), power.get());
    BN_div_word(term.get(), n);
    if (minus) {
      BN_sub(sum.get(), sum.get(), term.get());
    } else {
      BN_add(sum.get(), sum.get(), term.get());
    }
  }
  return sum;
}

// pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin); its fraction fills P, then S.
Blowfish ComputeInitialState() {
  const BigNumber pi = ArcTangent(5);
  const BigNumber smaller = ArcTangent(239);
  BN_lshift(pi.get(), pi.get(), 2);
  BN_sub(pi.get(), pi.get(), smaller.get());
  BN_lshift(pi.get(), pi.get(), 2);
  BN_rshift(pi.get(), pi.get(), kGuardBits);
  BN_mask_bits(pi.get(), kPiBits);
  std::array<unsigned char, kPiBits / 8> bytes;
  BN_bn2binpad(pi.get(), bytes.data(), static_cast<int>(bytes.size()));
  Blowfish state;
  const unsigned char* next = bytes.data();
  const auto fill = [&next](auto& words) {
    for (uint32_t& word : words) {
      word = 0;
      for (int i = 0; i < 4; ++i) word = word << 8 | *next++;
    }
  };
  fill(state.p);
  for (auto& box : state.s) fill(box);
  return state;
}

const Blowfish& InitialState() {
  static const Blowfish state = ComputeInitialState();
  return state;
}

inline void Encrypt(const Blowfish& state, uint32_t& left, uint32_t& right) {
  const auto f = [&state](uint32_t x) {
    return ((state.s[0][x >> 24] + state.s[1][x >> 16 & 0xFF]) ^ state.s[2][x >> 8 & 0xFF]) +
           state.s[3][x & 0xFF];
  };
  uint32_t a = left ^ state.p[0];
  uint32_t b = right;
  for (size_t i = 1; i < kRounds; i += 2) {
    b ^= f(a) ^ state.p[i];
    a ^= f(b) ^ state.p[i + 1];
  }
  left = b ^ state.p[kRounds + 1];
  right = a;
}

// The bytes of a digest as an endless row of big-endian words.
class WordsOf {
 public:
  explicit WordsOf(const Sha512& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) words_[i / 4] = words_[i / 4] << 8 | bytes[i];
  }
  ~WordsOf() { OPENSSL_cleanse(words_.data(), sizeof words_); }
  WordsOf(const WordsOf&) = delete;
  WordsOf& operator=(const WordsOf&) = delete;

  static constexpr size_t kCount = sizeof(Sha512) / 4;
  uint32_t operator[](size_t i) const { return words_[i % kCount]; }

 private:
  std::array<uint32_t, kCount> words_{};
};

void MixIntoP(Blowfish& state, const WordsOf& key) {
  for (size_t i = 0; i < state.p.size(); ++i) state.p[i] ^= key[i];
}

// Replaces all of the state by what it encrypts, block after block; `salt` is mixed into each.
template <typename Salt>
void Expand(Blowfish& state, const Salt& salt) {
  uint32_t left = 0;
  uint32_t right = 0;
  size_t used = 0;
  const auto replace = [&](auto& words) {
    for (size_t i = 0; i < words.size(); i += 2) {
      left ^= salt[used++];
      right ^= salt[used++];
      Encrypt(state, left, right);
      words[i] = left;
      words[i + 1] = right;
    }
  };
  replace(state.p);
  for (auto& box : state.s) replace(box);
}

struct NoSalt {
  uint32_t operator[](size_t) const { return 0; }
};

constexpr size_t kHashSize = 32;
using Hash = std::array<unsigned char, kHashSize>;

// bcrypt with its cost fixed, and with digests in place of the password and the salt.
Hash BcryptHash(const Sha512& password_digest, const Sha512& salt_digest) {
  constexpr int kRepetitions = 64;
  constexpr char kText[kHashSize + 1] = "OxychromaticBlowfishSwatDynamite";
  const WordsOf password(password_digest);
  const WordsOf salt(salt_digest);
  Blowfish state = InitialState();
  MixIntoP(state, password);
  Expand(state, salt);
  for (int i = 0; i < kRepetitions; ++i) {
    MixIntoP(state, salt);
    Expand(state, NoSalt());
    MixIntoP(state, password);
    Expand(state, NoSalt());
  }
  std::array<uint32_t, kHashSize / 4> words{};
  for (size_t i = 0; i < kHashSize; ++i) {
    words[i / 4] = words[i / 4] << 8 | static_cast<unsigned char>(kText[i]);
  }
  for (size_t i = 0; i < words.size(); i += 2) {
    for (int j = 0; j < kRepetitions; ++j) Encrypt(state, words[i], words[i + 1]);
  }
  Hash hash;
  for (size_t i = 0; i < kHashSize; ++i) {  // little-endian, unlike all the rest
    hash[i] = static_cast<unsigned char>(words[i / 4] >> 8 * (i % 4));
  }
  OPENSSL_cleanse(&state, sizeof state);
  return hash;
}

Sha512 DigestOf(const void* bytes, size_t size) {
  Sha512 digest;
  SHA512(static_cast<const unsigned char*>(bytes), size, digest.data());
  return digest;
}

}  // namespace

std::string BcryptPbkdf(std::string_view password, std::string_view salt, uint32_t rounds,
                        size_t size) {
  size = std::min(size, kBcryptLargestKey);
  Sha512 password_digest = DigestOf(password.data(), password.size());
  std::string key(size, '\0');
  const size_t blocks = (size + kHashSize - 1) / kHashSize;
  for (size_t block = 0; block < blocks; ++block) {
    std::string salt_and_number(salt);
    for (const size_t shift : {24u, 16u, 8u, 0u}) {
      salt_and_number += static_cast<char>((block + 1) >> shift);
    }
    Hash last =
        BcryptHash(password_digest, DigestOf(salt_and_number.data(), salt_and_number.size()));
    Hash sum = last;
    for (uint32_t round = 1; round < rounds; ++round) {
      last = BcryptHash(password_digest, DigestOf(last.data(), last.size()));
      for (size_t i = 0; i < kHashSize; ++i) sum[i] ^= last[i];
    }
    // A block's bytes are spread over the whole key.
    for (size_t i = 0; i < kHashSize && i * blocks + block < size; ++i) {
      key[i * blocks + block] = static_cast<char>(sum[i]);
    }
    OPENSSL_cleanse(last.data(), last.size());
    OPENSSL_cleanse(sum.data(), sum.size());
  }
  OPENSSL_cleanse(password_digest.data(), password_digest.size());
  return key;
}

}  // namespace autodist::transport
