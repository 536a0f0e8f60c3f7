#include "spec/host_range.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdio>

#include "spec/quoted.h"

namespace autodist::spec {
namespace {

constexpr size_t kMaxNameLength = 253;
constexpr size_t kMaxDigits = 9;  // such a number fits into 32 bits

// Parses one range from left to right.
class RangeReader {
 public:
  explicit RangeReader(std::string_view text) : text_(text) {}

  HostRange Read() {
    range_.names = {""};
    bool right = !text_.empty() || Wrong(0, "a host name is missing here");
    while (right && at_ < text_.size()) right = text_[at_] == '[' ? ReadBrackets() : ReadLiteral();
    if (!right) range_.names.clear();
    return std::move(range_);
  }

 private:
  bool Wrong(size_t at, std::string what) {
    range_.wrong_at = at;
    range_.wrong = std::move(what);
    return false;
  }
  bool TooMany() { return Wrong(at_, TooManyHosts()); }

  bool ReadLiteral() {
    const size_t end = std::min(text_.find('[', at_), text_.size());
    const std::string_view literal = text_.substr(at_, end - at_);
    if (const size_t stray = literal.find(']'); stray != std::string_view::npos) {
      return Wrong(at_ + stray, "']' without a '[' before it");
    }
    const bool right = Append({std::string(literal)});
    at_ = end;
    return right;
  }

  // Appends each of the endings to each of the names.
  bool Append(const std::vector<std::string>& endings) {
    if (range_.names.size() * endings.size() > kMaxHosts) return TooMany();
    std::vector<std::string> longer;
    longer.reserve(range_.names.size() * endings.size());
    for (const std::string& name : range_.names) {
      for (const std::string& ending : endings) {
        if (name.size() + ending.size() > kMaxNameLength) {
          return Wrong(
              at_, "a host name of more than " + std::to_string(kMaxNameLength) + " characters");
        }
        longer.push_back(name + ending);
      }
    }
    range_.names = std::move(longer);
    return true;
  }

  bool ReadBrackets() {
    const size_t open = at_++;
    std::vector<std::string> endings;
    for (;;) {
      if (!ReadNumbers(endings)) return false;
      if (at_ == text_.size()) return Wrong(open, "'[' without a ']' after it");
      const char next = text_[at_++];
      if (next == ']') return Append(endings);
      if (next != ',') {
        return Wrong(at_ - 1, Quoted(text_.substr(at_ - 1, 1)) +
                                  " inside brackets, which hold numbers and ranges such as 01-16");
      }
    }
  }

  // Parses "7" or "01-16".
  bool ReadNumbers(std::vector<std::string>& endings) {
    const size_t begin = at_;
    const std::string_view first = Digits();
    if (first.empty() || first.size() > kMaxDigits) {
      return Wrong(begin,
                   "a number of up to " + std::to_string(kMaxDigits) + " digits should stand here");
    }
    if (at_ == text_.size() || text_[at_] != '-') {
      endings.emplace_back(first);
      return endings.size() <= kMaxHosts || TooMany();
    }
    ++at_;
    const std::string_view last = Digits();
    const bool right = !last.empty() && last.size() <= kMaxDigits && Number(last) >= Number(first);
    if (!right) return Wrong(begin, "a range that goes from a number to a greater one is meant");
    if (Number(last) - Number(first) >= kMaxHosts) return TooMany();
    for (uint32_t number = Number(first); number <= Number(last); ++number) {
      char digits[16];
      std::snprintf(digits, sizeof digits, "%0*u", static_cast<int>(first.size()), number);
      endings.emplace_back(digits);
    }
    return endings.size() <= kMaxHosts || TooMany();
  }

  std::string_view Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  static uint32_t Number(std::string_view digits) {
    uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  std::string_view text_;
  HostRange range_;
  size_t at_ = 0;
};

}  // namespace

bool IsHostRange(std::string_view text) {
  return !text.starts_with('[') && text.find('[') != std::string_view::npos;
}

HostRange ExpandHostRange(std::string_view text) { return RangeReader(text).Read(); }

std::vector<std::string_view> SplitHostList(std::string_view text) {
  std::vector<std::string_view> words;
  bool inside = false;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' || text[at] == ']') inside = text[at] == '[';
    if (text[at] != ',' || inside) continue;
    words.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  words.push_back(text.substr(begin));
  return words;
}

std::string TooManyHosts() {
  return "more than " + std::to_string(kMaxHosts) +
         " hosts, which is more than a resource spec holds";
}

}  // namespace autodist::spec
