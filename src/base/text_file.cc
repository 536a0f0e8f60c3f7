#include "base/text_file.h"

#include <algorithm>
#include <array>

#include "base/fd.h"

namespace autodist::base {
namespace {

constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
constexpr char kEndOfDosFile = '\x1A';

struct OtherEncoding {
  std::string_view mark;
  const char* name;
  const char* shown;
};

// Longer marks first, because the one of UTF-32 begins with the one of UTF-16.
constexpr std::array kOtherEncodings = {
    OtherEncoding{{"\xFF\xFE\0\0", 4}, "UTF-32", "ff fe 00 00"},
    OtherEncoding{{"\0\0\xFE\xFF", 4}, "UTF-32", "00 00 fe ff"},
    OtherEncoding{{"\xFF\xFE", 2}, "UTF-16", "ff fe"},
    OtherEncoding{{"\xFE\xFF", 2}, "UTF-16", "fe ff"},
};

// UTF-16 without a mark: every second byte of Latin text is zero.
bool LooksLikeUtf16(std::string_view bytes) {
  std::array<size_t, 2> zeros{};
  for (size_t i = 0; i < bytes.size(); ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  const auto [few, many] = std::minmax(zeros[0], zeros[1]);
  return bytes.size() >= 4 && many * 4 > bytes.size() && few * 8 < many;
}

Status Refusal(const std::string& what) {
  return Error(StatusCode::kInvalidArgument, what + "; save it as UTF-8");
}

Status CheckEncoding(std::string_view bytes) {
  for (const auto& [mark, name, shown] : kOtherEncodings) {
    if (!bytes.starts_with(mark)) continue;
    return Refusal(std::string("the file is ") + name + " (it begins with the bytes " + shown +
                   ")");
  }
  if (LooksLikeUtf16(bytes)) {
    return Refusal("the file is UTF-16 (every second byte is zero)");
  }
  const size_t zero = bytes.find('\0');
  if (zero == std::string_view::npos) return OkStatus();
  const auto line = 1 + std::ranges::count(bytes.substr(0, zero), '\n');
  return Error(StatusCode::kInvalidArgument,
               "a zero byte on line " + std::to_string(line) + "; this is not a text file");
}

}  // namespace

Result<std::string> PlainText(std::string_view bytes) {
  AD_RETURN_IF_ERROR(CheckEncoding(bytes));
  if (bytes.ends_with(kEndOfDosFile)) bytes.remove_suffix(1);
  const bool has_line_feeds = bytes.find('\n') != std::string_view::npos;
  std::string text;
  text.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size(); ++at) {
    const bool begins_line = text.empty() || text.back() == '\n';
    // Concatenated files have a mark at the start of each.
    if (begins_line && bytes.substr(at).starts_with(kUtf8Mark)) {
      at += kUtf8Mark.size() - 1;
    } else if (bytes[at] != '\r') {
      text += bytes[at];
    } else if (!has_line_feeds) {
      text += '\n';
    } else if (at + 1 == bytes.size() || bytes[at + 1] != '\n') {
      text += '\r';  // as in the name "Icon\r", which is common in ignore files
    }
  }
  return text;
}

Result<std::string> ReadTextFile(const std::string& path, size_t limit) {
  AD_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limit));
  auto text = PlainText(bytes);
  return text.ok() ? std::move(text) : Annotate(text.status(), path);
}

}  // namespace autodist::base
