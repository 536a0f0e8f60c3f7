// The keys with which a node that connects back and its chief authenticate each other.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::secure {

// 256 secret bits. The chief has the job's key; each node's key is derived from it, and does not
// reveal the job's key or another node's.
class Key {
 public:
  static Key Random();
  static std::optional<Key> FromHex(std::string_view text);

  // HMAC-SHA256 of the node's name, keyed with this key of the job.
  Key ForNode(std::string_view node) const;

  std::string ToHex() const;
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  static constexpr size_t kSize = 32;
  Key() = default;

  std::array<char, kSize> bytes_{};
};

// Files and streams contain a key as one line that names its owner.
std::string JobKeyLine(const Key& job_key);
std::string NodeKeyLine(const Key& node_key);

// Returns nullopt if the text does not begin with such a line.
std::optional<Key> JobKeyIn(std::string_view text);
// Returns the node's key, which may be derived from a job's key in the text.
std::optional<Key> NodeKeyIn(std::string_view text, std::string_view node);

}  // namespace autodist::secure
