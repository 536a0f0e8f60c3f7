// The lines that a server may send before its identification string (RFC 4253, section 4.2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace autodist::ssh {

class ServerBanner {
 public:
  enum class Answer { kMore, kFound, kEndless };

  // Adds the text that was read. kEndless: too much text without a banner.
  Answer Take(std::string_view text);

  // Returns, after it was found, the received part of the banner and what follows it.
  std::string TakeBanner() { return std::move(rest_); }
  // Returns the beginning of the text before the banner, or of the text without one.
  std::string Said() const;

 private:
  std::string said_;  // complete lines
  std::string rest_;  // the text after them
  size_t lines_ = 0;
};

}  // namespace autodist::ssh
