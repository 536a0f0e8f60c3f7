// Digests, by which files on two machines are known to have the same content. They are BLAKE2b, of
// 32 bytes, in hexadecimal: nobody can make a second file of the same digest, not even the author
// of both. Of libsodium, in whose plain C it is three times as fast as SHA-256.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::files {

// Of what comes in pieces. Not thread-safe.
class Digest {
 public:
  Digest();
  Digest(Digest&&) noexcept;
  ~Digest();
  void Add(std::string_view piece);
  // As those below, of all that was added.
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Blocks while it reads.
Result<std::string> DigestOfFile(const std::string& path);

// Of all that can be read from `fd`, of the file `name`. `go_on` is asked between pieces of at most
// a megabyte; where it says no, the result is kCancelled.
Result<std::string> DigestOfContent(int fd, const std::string& name,
                                    const std::function<bool()>& go_on);

}  // namespace autodist::files
