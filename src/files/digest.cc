#include "files/digest.h"

#include <absl/strings/escaping.h>

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace autodist::files {
namespace {

constexpr size_t kDigestBytes = 32;

const unsigned char* Bytes(const char* text) {
  return reinterpret_cast<const unsigned char*>(text);
}

}  // namespace

struct Digest::State {
  crypto_generichash_blake2b_state of;
};

Digest::Digest() : state_(std::make_unique<State>()) {
  // Selects the fastest implementation for this machine; the digest is the same without it.
  [[maybe_unused]] static const int ready = sodium_init();
  crypto_generichash_blake2b_init(&state_->of, nullptr, 0, kDigestBytes);
}
Digest::Digest(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::Add(std::string_view piece) {
  crypto_generichash_blake2b_update(&state_->of, Bytes(piece.data()), piece.size());
}

std::string Digest::Hex() const {
  State end = *state_;  // a copy, because more may be added
  std::array<unsigned char, kDigestBytes> digest;
  crypto_generichash_blake2b_final(&end.of, digest.data(), digest.size());
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Result<std::string> DigestOfContent(int fd, const std::string& name,
                                    const std::function<bool()>& go_on, uint64_t limit) {
  Digest digest;
  std::vector<char> buffer(1 << 20);
  for (uint64_t left = limit;;) {
    if (!go_on()) return Error(StatusCode::kCancelled, "cancelled");
    const ssize_t got = read(fd, buffer.data(), std::min<uint64_t>(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, name);
    if (got == 0) return digest.Hex();
    digest.Add({buffer.data(), static_cast<size_t>(got)});
    left -= static_cast<uint64_t>(got);
  }
}

Result<std::string> DigestOfFile(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  return DigestOfContent(fd.get(), path, [] { return true; });
}

}  // namespace autodist::files
