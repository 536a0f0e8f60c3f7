// Secrets do not stay in memory.
#pragma once

#include <openssl/crypto.h>

#include <string>

namespace autodist::transport {

// Overwrites a string, which must outlive it, at the end of the scope.
class CleanseAtEnd {
 public:
  explicit CleanseAtEnd(std::string& secret) : secret_(secret) {}
  CleanseAtEnd(const CleanseAtEnd&) = delete;
  CleanseAtEnd& operator=(const CleanseAtEnd&) = delete;
  ~CleanseAtEnd() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

 private:
  std::string& secret_;
};

}  // namespace autodist::transport
