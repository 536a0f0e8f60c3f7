// What a server says before it names its protocol: any lines (RFC 4253, section 4.2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace autodist::ssh {

class ServerBanner {
 public:
  enum class Answer { kMore, kFound, kEndless };

  // Takes what was read next. kEndless: so much that no banner is going to follow.
  Answer Take(std::string_view text);

  // Once it is found: the banner, as far as it has come, and what came after it.
  std::string TakeBanner() { return std::move(rest_); }
  // What was said before, or instead; the beginning of it.
  std::string Said() const;

 private:
  std::string said_;  // whole lines
  std::string rest_;  // of the text, after them
  size_t lines_ = 0;
};

}  // namespace autodist::ssh
