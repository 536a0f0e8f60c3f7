#include "secure/key.h"

#include <absl/strings/escaping.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/random.h"

namespace autodist::secure {
namespace {

constexpr std::string_view kJobKey = "autodist-job-key ";
constexpr std::string_view kNodeKey = "autodist-node-key ";
// Separates these keys from keys for other purposes and of later versions.
constexpr std::string_view kPurpose = "autodist node key 1: ";

std::optional<Key> KeyIn(std::string_view text, std::string_view kind) {
  if (!text.starts_with(kind)) return std::nullopt;
  text.remove_prefix(kind.size());
  return Key::FromHex(text.substr(0, text.find('\n')));
}

}  // namespace

Key Key::Random() {
  Key key;
  key.bytes_ = base::RandomBytes<kSize>();
  return key;
}

std::optional<Key> Key::FromHex(std::string_view text) {
  const bool hex = std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (text.size() != 2 * kSize || !hex) return std::nullopt;
  Key key;
  std::ranges::copy(absl::HexStringToBytes(std::string(text)), key.bytes_.begin());
  return key;
}

Key Key::ForNode(std::string_view node) const {
  const std::string text = std::string(kPurpose) + std::string(node);
  Key key;
  if (!HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
            reinterpret_cast<unsigned char*>(key.bytes_.data()), nullptr)) {
    abort();  // out of memory
  }
  return key;
}

std::string Key::ToHex() const { return absl::BytesToHexString(std::string(bytes())); }

std::string JobKeyLine(const Key& job_key) { return std::string(kJobKey) + job_key.ToHex() + "\n"; }

std::string NodeKeyLine(const Key& node_key) {
  return std::string(kNodeKey) + node_key.ToHex() + "\n";
}

std::optional<Key> JobKeyIn(std::string_view text) { return KeyIn(text, kJobKey); }

std::optional<Key> NodeKeyIn(std::string_view text, std::string_view node) {
  if (const auto job_key = JobKeyIn(text)) return job_key->ForNode(node);
  return KeyIn(text, kNodeKey);
}

}  // namespace autodist::secure
