// Validators for values on the command line. Their errors quote the value as it was typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/duration.h"
#include "base/wall_clock.h"
#include "cli/app.h"

namespace autodist::cli {

// Rejects an empty value, which an unset shell variable leaves. `kind`: placeholder in the help.
CLI::Validator NotEmpty(const std::string& kind = "");
// Rejects what `parse` rejects, with its message; `parse` returns a Status or a Result.
template <typename Parse>
CLI::Validator ParsedBy(Parse parse, const std::string& kind) {
  return {[parse](const std::string& text) {
            const auto parsed = parse(text);
            if constexpr (requires { parsed.status(); }) {
              return Message(parsed.status());
            } else {
              return Message(parsed);
            }
          },
          kind};
}
CLI::Validator OneOf(std::vector<std::string> values);
CLI::Validator WholeNumber(uint64_t min, uint64_t max);
// Agents receive these as milliseconds in 32 bits: leases, grace periods, intervals.
inline constexpr double kMaxInterval = 30 * base::kSecondsPerDay;
inline constexpr double kMaxTimeout = 3650 * base::kSecondsPerDay;  // no job needs more
// Accept what base::ParseDuration accepts and replace it by seconds: for transform().
CLI::Validator Duration(double min, double max = kMaxInterval);
CLI::Validator DurationWithUnit(double max);
CLI::Validator DurationOrNone(double min);  // 0: none
CLI::Validator DurationOrAuto();
// Accepts bytes, or 500M, 2G (powers of 1024), and replaces it by bytes.
CLI::Validator Size();
CLI::Validator SignalName();  // replaced by the signal's number
// Accepts patterns that stay within the working directory.
CLI::Validator FilePattern();
// ADDRESS:PORT, as base::ListenAddress accepts it.
CLI::Validator ListenAddressText();
// Accepts what PastTime accepts.
CLI::Validator PastTimeText();

// Accepts a name with or without "SIG", or a number. Returns 0 if there is no such signal.
int SignalNumber(std::string name);

// Parses "5m", "1h30m", "2d" as that long ago, or an ISO 8601 time such as "2026-11-23T14:03",
// which is local without a zone and must not be in the future. nullopt: neither.
std::optional<base::WallTime> PastTime(const std::string& text, base::WallTime now);

}  // namespace autodist::cli
