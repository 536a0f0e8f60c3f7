#include "chief/remote_controller/remote_output.h"

#include <algorithm>
#include <utility>

#include "display/screen.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxShownLineLength = 64 << 10;  // bytes; a longer line is passed on in pieces

// Returns the length of the longest suffix of `text` that is a prefix of the mark.
size_t BegunMark(std::string_view text, std::string_view mark) {
  size_t length = std::min(text.size(), mark.size() - 1);
  while (length > 0 && !text.ends_with(mark.substr(0, length))) --length;
  return length;
}

}  // namespace

std::string MarkOf255(const std::string& nonce) {
  return std::string(1, '\0') + "AUTODIST-ENDED-WITH-255 " + nonce;
}

std::string RemoteOutput::Take(std::string_view bytes) {
  held_ += bytes;
  if (const size_t at = held_.find(mark_); at != std::string::npos) {
    marked_ = true;
    held_.erase(at, mark_.size());
  }
  const size_t ready = held_.size() - BegunMark(held_, mark_);
  text_.append(held_, 0, ready);
  held_.erase(0, ready);
  return Shown(false);
}

std::string RemoteOutput::End() {
  text_ += std::exchange(held_, "");
  return Shown(true);
}

std::string RemoteOutput::Shown(bool end) {
  if (!to_terminal_) return std::exchange(text_, "");
  std::string shown;
  size_t begin = 0;
  for (size_t line = text_.find('\n'); line != std::string::npos; line = text_.find('\n', begin)) {
    shown += display::Harmless(std::string_view(text_).substr(begin, line - begin)) + "\n";
    begin = line + 1;
  }
  text_.erase(0, begin);
  if (end || text_.size() > kMaxShownLineLength)
    shown += display::Harmless(std::exchange(text_, ""));
  return shown;
}

}  // namespace autodist::chief
