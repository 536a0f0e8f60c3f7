// Digests, which show that files on two machines have the same content: BLAKE2b with 32 bytes, in
// hexadecimal. Collisions are infeasible, even for the author of both files. Implemented by
// libsodium, whose plain C version is three times as fast as SHA-256.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::files {

// The digest of content that arrives in pieces. Not thread-safe.
class Digest {
 public:
  Digest();
  Digest(Digest&&) noexcept;
  ~Digest();
  void Add(std::string_view piece);
  // Returns the digest of everything added so far.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Blocks while it reads.
Result<std::string> DigestOfFile(const std::string& path);

// Returns the digest of everything that can be read from `fd`, of the file `name`, up to `limit`
// bytes. Calls `go_on` between pieces of at most 1 MB; if that returns false, the result is
// kCancelled.
Result<std::string> DigestOfContent(int fd, const std::string& name,
                                    const std::function<bool()>& go_on,
                                    uint64_t limit = UINT64_MAX);

}  // namespace autodist::files
