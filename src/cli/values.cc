#include "cli/values.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <string_view>

#include "base/did_you_mean.h"
#include "base/listen_address.h"

namespace autodist::cli {
namespace {

constexpr double kMostSeconds = 86'400;

std::string Refusal(const std::string& text, const std::string& wanted) {
  return text.empty() ? "the value is empty; it has to be " + wanted
                      : "'" + text + "' is not " + wanted;
}

std::string InDigits(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

// "1h30m". Longer than a hundred years is none.
std::optional<std::chrono::seconds> Duration(std::string_view text) {
  constexpr double kLongest = 100.0 * 365 * 86'400;
  double sum = 0;
  while (!text.empty()) {
    uint32_t number = 0;
    const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<size_t>(unit - text.data()));
    const size_t which = text.empty() ? text.npos : std::string_view("smhd").find(text[0]);
    if (error != std::errc() || which == text.npos) return std::nullopt;
    sum += number * std::array{1.0, 60.0, 3600.0, 86'400.0}[which];
    text.remove_prefix(1);
  }
  if (sum > kLongest) return std::nullopt;
  return std::chrono::seconds(static_cast<int64_t>(sum));
}

// "" (local), "Z", "+01:00" or "+0100": what is to be taken from a time to have it in UTC.
bool ParseZone(const char* text, std::optional<std::chrono::seconds>& east) {
  if (*text == '\0') return true;
  std::tm zone{};
  const char* const end = strptime(text, "%z", &zone);
  east = std::chrono::seconds(zone.tm_gmtoff);
  return end != nullptr && *end == '\0';
}

// The day, and of the time of day as much as is said.
std::optional<WallTime> Iso8601(const std::string& text) {
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
  // What the clock does not reach is no time.
  if (second < 0 || second >= std::chrono::system_clock::to_time_t(WallTime::max())) return {};
  return std::chrono::system_clock::from_time_t(second) +
         std::chrono::milliseconds(static_cast<int64_t>(fraction * 1000));
}

}  // namespace

CLI::Validator NotEmpty() {
  return {[](const std::string& text) {
            return text.empty() ? std::string("the value is empty") : std::string();
          },
          ""};
}

CLI::Validator OneOf(std::vector<std::string> values) {
  std::string kinds;
  for (const std::string& value : values) kinds += (kinds.empty() ? "" : "|") + value;
  return {[values = std::move(values)](const std::string& text) -> std::string {
            if (std::ranges::count(values, text) > 0) return "";
            const std::string nearest = base::Nearest(text, values);
            return Refusal(text, base::Alternatives(values)) +
                   (nearest.empty() ? "" : "; did you mean " + nearest + "?");
          },
          kinds};
}

CLI::Validator WholeNumber(uint64_t least, uint64_t most) {
  return {[least, most](const std::string& text) -> std::string {
            uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [after, error] = std::from_chars(text.data(), end, number);
            const bool right =
                error == std::errc() && after == end && number >= least && number <= most;
            return right ? ""
                         : Refusal(text, "a whole number from " + std::to_string(least) + " to " +
                                             std::to_string(most));
          },
          "N"};
}

CLI::Validator Seconds(double least) {
  return {[least](const std::string& text) -> std::string {
            double seconds = 0;  // NaN is none
            const bool right = CLI::detail::lexical_cast(text, seconds) && seconds >= least &&
                               seconds <= kMostSeconds;
            return right ? "" : Refusal(text, "a number of seconds up to 86400");
          },
          "SECONDS"};
}

CLI::Validator LongDuration() {
  return {[](std::string& text) -> std::string {
            const bool number = text.find_first_not_of("0123456789.") == std::string::npos;
            const auto duration = Duration(text);
            if (text.empty() || (!number && !duration)) {
              return Refusal(text, "a duration such as 90, 10m or 1h");
            }
            if (!number) text = std::to_string(duration->count());
            return "";
          },
          "DURATION"};
}

CLI::Validator SecondsOrNone(double least) {
  return {[least](const std::string& text) -> std::string {
            double seconds = 0;
            const bool none = CLI::detail::lexical_cast(text, seconds) && seconds == 0;
            return none || Seconds(least)(text).empty()
                       ? ""
                       : Refusal(text,
                                 "0, or a number of seconds from " + InDigits(least) + " to 86400");
          },
          "SECONDS"};
}

CLI::Validator SecondsOrAuto() {
  return {[](const std::string& text) -> std::string {
            return text == "auto" || Seconds(0)(text).empty()
                       ? ""
                       : Refusal(text, "auto, or a number of seconds up to 86400");
          },
          "SECONDS"};
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
  return {[](const std::string& text) {
            return SignalNumber(text) != 0 ? std::string()
                                           : Refusal(text, "a signal: INT, USR1, 12");
          },
          "SIGNAL"};
}

CLI::Validator ListenAddressText() {
  return {[](const std::string& text) {
            const auto address = base::ListenAddress::Parse(text);
            return address.ok() ? std::string() : Message(address.status());
          },
          "ADDRESS"};
}

std::optional<WallTime> PastTime(const std::string& text, WallTime now) {
  if (text.empty()) return std::nullopt;
  if (const auto ago = Duration(text)) return now - *ago;
  const auto time = Iso8601(text);
  return time && *time <= now ? time : std::nullopt;
}

CLI::Validator PastTimeText() {
  return {[](const std::string& text) {
            return PastTime(text, std::chrono::system_clock::now())
                       ? std::string()
                       : Refusal(text,
                                 "a time that has passed: 30s, 5m, 2h or 1d ago, or "
                                 "2026-11-23T14:03");
          },
          "TIME"};
}

}  // namespace autodist::cli
