#include "base/duration.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace autodist::base {
namespace {

struct Unit {
  double seconds;
  std::initializer_list<std::string_view> names;
};

const Unit kUnits[] = {
    {0.001, {"ms", "msec", "msecs", "millisecond", "milliseconds"}},
    {1, {"s", "sec", "secs", "second", "seconds"}},
    {60, {"m", "min", "mins", "minute", "minutes"}},
    {3600, {"h", "hr", "hrs", "hour", "hours"}},
    {kSecondsPerDay, {"d", "day", "days"}},
    {7 * kSecondsPerDay, {"w", "week", "weeks"}},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

void SkipSpaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

// Parses a number like "90", "1.5" or ".5" from the front; no sign, no exponent.
std::optional<double> TakeNumber(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && (IsDigit(text[length]) || text[length] == '.')) ++length;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + length, number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + length) return std::nullopt;
  text.remove_prefix(length);
  return number;
}

std::optional<double> TakeUnit(std::string_view& text) {
  std::string name;
  while (!text.empty() && IsLetter(text.front())) {
    name += Lower(text.front());
    text.remove_prefix(1);
  }
  for (const Unit& unit : kUnits) {
    for (const std::string_view known : unit.names) {
      if (name == known) return unit.seconds;
    }
  }
  return std::nullopt;
}

std::string Digits(double number) {
  char digits[32];
  return {digits,
          std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr};
}

}  // namespace

std::optional<double> ParseDuration(std::string_view text) {
  auto rest = text;
  auto number = TakeNumber(rest);
  if (!number) return std::nullopt;
  if (rest.empty()) return number;
  double sum = 0;
  for (;;) {
    SkipSpaces(rest);
    const auto unit = TakeUnit(rest);
    if (!number || !unit) return std::nullopt;
    sum += *number * *unit;
    if (rest.empty()) return sum;
    SkipSpaces(rest);
    number = TakeNumber(rest);
  }
}

std::string DurationText(double seconds) {
  const double whole = std::floor(seconds);
  constexpr double kMaxExact = 1e15;  // all integers up to here are exact
  if (seconds < 60 || whole != seconds || seconds > kMaxExact) return Digits(seconds) + "s";
  std::string text;
  auto left = static_cast<int64_t>(whole);
  for (const auto& [name, size] :
       {std::pair{"d", int64_t{86'400}}, {"h", 3600}, {"m", 60}, {"s", 1}}) {
    if (left >= size) text += std::to_string(left / size) + name;
    left %= size;
  }
  return text;
}

}  // namespace autodist::base
