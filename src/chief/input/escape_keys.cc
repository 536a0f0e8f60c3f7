#include "chief/input/escape_keys.h"

namespace autodist::chief {

EscapeKeys::Typed EscapeKeys::Take(std::string_view typed) {
  Typed taken;
  for (const char c : typed) {
    if (state_ == State::kBegin && c == '~') {
      state_ = State::kEscape;
      continue;
    }
    if (state_ == State::kEscape) {
      state_ = State::kBegin;
      if (c == '.') {
        taken.keys.push_back(Key::kLeave);
        return taken;
      }
      if (c == '?') {
        taken.keys.push_back(Key::kHelp);
        continue;
      }
      if (c != '~') taken.bytes += '~';
    }
    taken.bytes += c;
    // Enter, in any terminal mode; Ctrl-C and Ctrl-D also begin a line.
    const bool ends_line = c == '\r' || c == '\n' || c == '\x03' || c == '\x04';
    state_ = ends_line ? State::kBegin : State::kLine;
  }
  return taken;
}

}  // namespace autodist::chief
