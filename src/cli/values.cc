#include "cli/values.h"

#include <signal.h>
#include <string.h>

#include <absl/strings/str_join.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/did_you_mean.h"
#include "base/listen_address.h"
#include "base/parse_number.h"
#include "files/file_patterns.h"

namespace autodist::cli {
namespace {

constexpr double kMaxAgo = 100 * 365 * base::kSecondsPerDay;

std::string Refusal(const std::string& text, const std::string& wanted) {
  return text.empty() ? "the value is empty; it must be " + wanted
                      : "'" + text + "' is not " + wanted;
}

// Formats seconds as plain digits, the option's new value.
std::string InDigits(double number) {
  char digits[32];
  return {digits,
          std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr};
}

struct DurationRange {
  double min;
  double max;

  // Whether the text is a duration in the range; replaces it by its seconds then.
  bool Take(std::string& text) const {
    const auto duration = base::ParseDuration(text);
    if (!duration || *duration < min || *duration > max) return false;
    text = InDigits(*duration);
    return true;
  }

  std::string Text() const {
    const std::string limit = base::DurationText(max);
    return std::string("a duration like 90, 10m, 1h30m or 2d,") +
           (min > 0 ? " from " + base::DurationText(min) + " to " : " up to ") + limit;
  }
};

// Whether a duration has a unit.
bool HasUnit(const std::string& text) { return text.find_first_not_of("0123456789.") != text.npos; }

// Parses "" (local), "Z", "+01:00" or "+0100" into the offset from UTC.
bool ParseZone(const char* text, std::optional<std::chrono::seconds>& east) {
  if (*text == '\0') return true;
  std::tm zone{};
  const char* const end = strptime(text, "%z", &zone);
  east = std::chrono::seconds(zone.tm_gmtoff);
  return end != nullptr && *end == '\0';
}

// Parses a date with an optional time of day.
std::optional<base::WallTime> Iso8601(const std::string& text) {
  std::tm time{};
  const char* rest = nullptr;
  for (const char* form :
       {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    time = {};
    rest = strptime(text.c_str(), form, &time);
    if (rest != nullptr) break;
  }
  if (rest == nullptr) return std::nullopt;
  double fraction = 0;
  if (*rest == '.') {
    const auto parsed = std::from_chars(rest, text.data() + text.size(), fraction);
    if (parsed.ec != std::errc()) return std::nullopt;
    rest = parsed.ptr;
  }
  std::optional<std::chrono::seconds> east;
  if (!ParseZone(rest, east)) return std::nullopt;
  time.tm_isdst = -1;
  const std::time_t second = east ? timegm(&time) - east->count() : mktime(&time);
  // Rejects times that the clock cannot represent.
  if (second < 0 || second >= std::chrono::system_clock::to_time_t(base::WallTime::max()))
    return {};
  return std::chrono::system_clock::from_time_t(second) +
         std::chrono::milliseconds(static_cast<int64_t>(fraction * 1000));
}

}  // namespace

CLI::Validator NotEmpty(const std::string& kind) {
  return {[](const std::string& text) {
            return text.empty() ? std::string("the value is empty") : std::string();
          },
          kind};
}

CLI::Validator OneOf(std::vector<std::string> values) {
  const std::string kinds = absl::StrJoin(values, "|");
  return {[values = std::move(values)](const std::string& text) -> std::string {
            if (std::ranges::count(values, text) > 0) return "";
            const std::string nearest = base::Nearest(text, values);
            return Refusal(text, base::Alternatives(values)) +
                   (nearest.empty() ? "" : "; did you mean " + nearest + "?");
          },
          kinds};
}

CLI::Validator WholeNumber(uint64_t min, uint64_t max) {
  return {[min, max](const std::string& text) -> std::string {
            const auto number = base::ParseNumber<uint64_t>(text);
            const bool right = number && *number >= min && *number <= max;
            return right ? ""
                         : Refusal(text, "a whole number from " + std::to_string(min) + " to " +
                                             std::to_string(max));
          },
          "N"};
}

CLI::Validator Duration(double min, double max) {
  return {[range = DurationRange{min, max}](std::string& text) -> std::string {
            return range.Take(text) ? "" : Refusal(text, range.Text());
          },
          "DURATION"};
}

CLI::Validator DurationWithUnit(double max) {
  return {[range = DurationRange{0, max}](std::string& text) -> std::string {
            return HasUnit(text) && range.Take(text)
                       ? ""
                       : Refusal(text, "a duration with its unit, like 12h or 7d");
          },
          "DURATION"};
}

CLI::Validator DurationOrNone(double min) {
  return {[range = DurationRange{min, kMaxInterval}](std::string& text) -> std::string {
            if (base::ParseDuration(text) == 0) text = "0";
            return text == "0" || range.Take(text) ? "" : Refusal(text, "0, or " + range.Text());
          },
          "DURATION"};
}

CLI::Validator DurationOrAuto() {
  return {[range = DurationRange{0, kMaxTimeout}](std::string& text) -> std::string {
            return text == "auto" || range.Take(text) ? ""
                                                      : Refusal(text, "auto, or " + range.Text());
          },
          "DURATION"};
}

CLI::Validator Size() {
  return {[](std::string& text) -> std::string {
            try {
              std::string bytes = text;
              if (CLI::AsSizeValue(false)(bytes).empty()) {
                text = bytes;
                return "";
              }
            } catch (const CLI::ParseError&) {
            }
            return Refusal(text, "a size: bytes, or 64K, 500M, 2G");
          },
          "SIZE"};
}

int SignalNumber(std::string name) {
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* known = sigabbrev_np(signal);
    if (name == std::to_string(signal) || (known && name == known)) return signal;
  }
  return 0;
}

CLI::Validator SignalName() {
  return {[](std::string& text) {
            const int number = SignalNumber(text);
            std::string refusal =
                number != 0 ? std::string() : Refusal(text, "a signal: INT, USR1, 12");
            text = std::to_string(number);
            return refusal;
          },
          "SIGNAL"};
}

CLI::Validator FilePattern() {
  return {[](const std::string& text) -> std::string {
            const auto patterns = files::FilePatterns::Parse({text});
            if (patterns.ok()) return "";
            return Message(patterns.status()) + ": " + Remedy(patterns.status());
          },
          "PATTERN"};
}

CLI::Validator ListenAddressText() { return ParsedBy(base::ListenAddress::Parse, "ADDRESS"); }

std::optional<base::WallTime> PastTime(const std::string& text, base::WallTime now) {
  if (text.empty()) return std::nullopt;
  // A plain number could also mean seconds since 1970.
  const auto ago = base::ParseDuration(text);
  if (ago && HasUnit(text)) {
    if (*ago > kMaxAgo) return std::nullopt;
    return now - std::chrono::milliseconds(static_cast<int64_t>(*ago * 1000));
  }
  const auto time = Iso8601(text);
  return time && *time <= now ? time : std::nullopt;
}

CLI::Validator PastTimeText() {
  return {[](const std::string& text) {
            return PastTime(text, std::chrono::system_clock::now())
                       ? std::string()
                       : Refusal(text, "a time in the past: 30s, 5m, 2h, 1d, or 2026-11-23T14:03");
          },
          "TIME"};
}

}  // namespace autodist::cli
