// Recognizes escapes in input typed at the terminal of a rank: as in ssh, `~` at the beginning of a
// line and a character. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::chief {

class EscapeKeys {
 public:
  enum class Key { kLeave, kHelp };  // ~. and ~?

  struct Typed {
    std::string bytes;      // for the rank; `~~` is one `~`
    std::vector<Key> keys;  // nothing after the first kLeave
  };
  Typed Take(std::string_view typed);

 private:
  enum class State { kLine, kBegin, kEscape };  // inside a line; at its beginning; after `~` there
  State state_ = State::kBegin;
};

}  // namespace autodist::chief
