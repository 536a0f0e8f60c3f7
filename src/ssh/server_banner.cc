#include "ssh/server_banner.h"

namespace autodist::ssh {
namespace {

constexpr std::string_view kBanner = "SSH-";
// The limits of OpenSSH's client.
constexpr size_t kMaxLines = 1024;
constexpr size_t kMaxLineLength = 8192;
constexpr size_t kMaxKept = 1024;

}  // namespace

ServerBanner::Answer ServerBanner::Take(std::string_view text) {
  rest_ += text;
  for (;;) {
    const std::string_view begin = std::string_view(rest_).substr(0, kBanner.size());
    if (begin == kBanner) return Answer::kFound;
    if (kBanner.starts_with(begin)) return Answer::kMore;
    const size_t end = rest_.find('\n');
    if (end == std::string::npos && rest_.size() <= kMaxLineLength) return Answer::kMore;
    if (end == std::string::npos || ++lines_ > kMaxLines) return Answer::kEndless;
    if (said_.size() < kMaxKept) said_ += rest_.substr(0, end + 1);
    rest_.erase(0, end + 1);
  }
}

std::string ServerBanner::Said() const { return (said_ + rest_).substr(0, kMaxKept); }

}  // namespace autodist::ssh
