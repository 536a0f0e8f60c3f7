#include "cli/values.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <charconv>

#include "base/did_you_mean.h"

namespace autodist::cli {
namespace {

constexpr double kMostSeconds = 86'400;

std::string Refusal(const std::string& text, const std::string& wanted) {
  return text.empty() ? "the value is empty; it has to be " + wanted
                      : "'" + text + "' is not " + wanted;
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

}  // namespace autodist::cli
