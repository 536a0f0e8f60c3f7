#include "progress/scan.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace autodist::progress {
namespace {

constexpr size_t kMaxNameLength = 48;
constexpr double kLargestTime = 1e10;  // seconds

bool IsWordByte(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool IsNameByte(char c) {
  return IsWordByte(c) || std::string_view("./@%+-()# ").find(c) != std::string_view::npos;
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

double Scale(char suffix) {
  constexpr std::string_view kSuffixes = "kMGTP";
  const size_t place = kSuffixes.find(suffix == 'K' ? 'k' : suffix);
  return place == std::string_view::npos ? 1 : std::pow(1000.0, static_cast<double>(place + 1));
}

// The latest end of a pair: "," "|" tab, or two spaces.
size_t SegmentEnd(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' || text[i] == '|' || text[i] == '\t') return i;
    if (text[i] == ' ' && i + 1 < text.size() && text[i + 1] == ' ' && i > 0 &&
        text[i - 1] != ':' && text[i - 1] != '=') {
      return i;
    }
  }
  return text.size();
}

// "loss=1.2 acc: 93.1%": pairs, up to the first text that is not one.
void ScanSegment(std::string_view segment, std::string_view rest, ProgressUpdate& update) {
  while (update.metrics.size() < kMaxMetrics) {
    SkipSpaces(segment);
    const size_t mark = segment.find_first_of(":=");
    if (mark == std::string_view::npos || mark == 0) return;
    std::string_view name = Trimmed(segment.substr(0, mark));
    const bool quoted = name.size() > 2 && name.front() == name.back() &&
                        (name.front() == '"' || name.front() == '\'');
    if (quoted) name = name.substr(1, name.size() - 2);  // of JSON or a Python dict
    segment.remove_prefix(mark + 1);
    SkipSpaces(segment);
    if (name == "eta" || name == "ETA") {
      std::string_view time = rest.substr(static_cast<size_t>(segment.data() - rest.data()));
      update.eta = TakeDuration(time);
      return;
    }
    const auto value = TakeReal(segment);
    if (!value) return;
    Skip(segment, "%");
    if (IsMetricName(name)) update.metrics.push_back({name, *value});
  }
}

}  // namespace

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool Skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

void SkipSpaces(std::string_view& text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
}

std::optional<uint64_t> TakeNumber(std::string_view& text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || static_cast<double>(number) > kLargestCount) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeStepOf(std::string_view& text, ProgressUpdate& update) {
  update.step = TakeNumber(text);
  if (!update.step || !Skip(text, "/")) return false;
  update.total = TakeNumber(text);
  return true;
}

std::optional<double> TakeReal(std::string_view& text) {
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc()) return std::nullopt;
  if (end != last && (IsWordByte(*end) || *end == ':' || *end == '/')) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::optional<uint64_t> TakeCount(std::string_view& text) {
  std::string_view rest = text;
  const auto whole = TakeNumber(rest);
  if (!whole) return std::nullopt;
  double count = static_cast<double>(*whole);
  if (rest.size() > 1 && rest[0] == '.' && IsDigit(rest[1])) {
    rest = text;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    rest.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (!rest.empty() && Scale(rest[0]) > 1) {
    count *= Scale(rest[0]);
    rest.remove_prefix(1);
  }
  if (!(count <= kLargestCount)) return std::nullopt;
  text = rest;
  return static_cast<uint64_t>(std::llround(count));
}

std::optional<double> TakeDuration(std::string_view& text) {
  std::string_view rest = text;
  auto part = TakeNumber(rest);
  if (!part) return std::nullopt;
  double seconds = 0;
  if (Skip(rest, " days, ") || Skip(rest, " day, ") || Skip(rest, "d ") || Skip(rest, "d, ") ||
      Skip(rest, "d")) {
    constexpr double kDay = 86'400;
    seconds = static_cast<double>(*part) * kDay;
    part = TakeNumber(rest);
    if (!part) return std::nullopt;
  }
  double of_day = static_cast<double>(*part);
  int parts = 1;
  while (parts < 3 && rest.size() > 1 && rest[0] == ':' && IsDigit(rest[1])) {
    rest.remove_prefix(1);
    part = TakeNumber(rest);
    if (!part) return std::nullopt;
    of_day = of_day * 60 + static_cast<double>(*part);
    ++parts;
  }
  if (parts == 1 || seconds + of_day > kLargestTime) return std::nullopt;
  text = rest;
  return seconds + of_day;
}

bool IsMetricName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength || name == "v_num") return false;
  const char first = name.front();
  return (IsWordByte(first) && !IsDigit(first)) && std::ranges::all_of(name, IsNameByte);
}

void ScanMetrics(std::string_view text, ProgressUpdate& update) {
  std::string_view left = text;
  while (!left.empty() && update.metrics.size() < kMaxMetrics) {
    const size_t end = SegmentEnd(left);
    ScanSegment(left.substr(0, end), text, update);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
}

}  // namespace autodist::progress
