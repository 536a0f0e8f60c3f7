// The keys that a node which connects back, and its chief, prove to each other that they know.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::secure {

// 256 secret bits. The job's is the chief's; each node's is derived from it, and lets nobody find
// out the job's or another node's.
class Key {
 public:
  static Key Random();
  static std::optional<Key> FromHex(std::string_view text);

  // HMAC-SHA256 of the node's name, with this key of the job.
  Key ForNode(std::string_view node) const;

  std::string ToHex() const;
  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

 private:
  static constexpr size_t kSize = 32;
  Key() = default;

  std::array<char, kSize> bytes_{};
};

// Files and streams have a key as one line, which says whose it is.
std::string JobKeyLine(const Key& job_key);
std::string NodeKeyLine(const Key& node_key);

// nullopt: the text does not begin with such a line.
std::optional<Key> JobKeyIn(std::string_view text);
// The node's own key, also from the job's.
std::optional<Key> NodeKeyIn(std::string_view text, std::string_view node);

}  // namespace autodist::secure
