// Checks of values on the command line. What they say is in the words of who typed them.
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

// Refuses the empty text, which an unset shell variable leaves. `kind`: of the value, for the help.
CLI::Validator NotEmpty(const std::string& kind = "");
// Refuses what `parse` refuses, which gives a Status or a Result, with its message.
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
CLI::Validator WholeNumber(uint64_t least, uint64_t most);
// Agents receive these as milliseconds in 32 bits: leases, grace periods, intervals.
inline constexpr double kMaxInterval = 30 * base::kSecondsPerDay;
inline constexpr double kMaxTimeout = 3650 * base::kSecondsPerDay;  // no job waits longer
// What base::ParseDuration takes, made a number of seconds: these go with transform().
CLI::Validator Duration(double least, double most = kMaxInterval);
CLI::Validator DurationWithUnit(double most);
CLI::Validator DurationOrNone(double least);  // 0 is none
CLI::Validator DurationOrAuto();
// Bytes, or 500M, 2G, of 1024 each; made a number of bytes.
CLI::Validator Size();
CLI::Validator SignalName();  // made its number
// Of files that stay within the working directory.
CLI::Validator FilePattern();
// ADDRESS:PORT, as base::ListenAddress takes it.
CLI::Validator ListenAddressText();
// What PastTime takes.
CLI::Validator PastTimeText();

// 0: there is no such signal. With or without "SIG", or as a number.
int SignalNumber(std::string name);

// "5m", "1h30m", "2d": so long ago; or a time as ISO 8601 has it, "2026-11-23T14:03" say, local
// where it names no zone, and not in the future. nullopt: it is neither.
std::optional<base::WallTime> PastTime(const std::string& text, base::WallTime now);

}  // namespace autodist::cli
