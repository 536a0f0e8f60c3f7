#include "files/digest.h"

#include <absl/strings/escaping.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#define XXH_INLINE_ALL  // so that nothing is left to link into the static agent
#include <xxhash.h>

#include "base/fd.h"

namespace autodist::files {

struct Digest::State {
  XXH3_state_t of;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->of); }
Digest::Digest(Digest&&) noexcept = default;
Digest::~Digest() = default;

void Digest::Add(std::string_view piece) {
  XXH3_128bits_update(&state_->of, piece.data(), piece.size());
}

std::string Digest::Hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->of));
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest});
}

Result<std::string> DigestOfContent(int fd, const std::string& name,
                                    const std::function<bool()>& go_on) {
  Digest digest;
  std::vector<char> buffer(1 << 20);
  for (;;) {
    if (!go_on()) return Error(StatusCode::kCancelled, "cancelled");
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, name);
    if (got == 0) return digest.Hex();
    digest.Add({buffer.data(), static_cast<size_t>(got)});
  }
}

Result<std::string> DigestOfFile(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  return DigestOfContent(fd.get(), path, [] { return true; });
}

}  // namespace autodist::files
