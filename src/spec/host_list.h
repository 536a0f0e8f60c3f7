// Lists of machines on a command line, and the collector for all other kinds of lists.
//
// Pure functions; all issues are reported at once, as file:line:column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/issue.h"

namespace autodist::spec {

// Ranges of host names, as Slurm and pdsh write them: "gpu[01-16,20]", "rack[1-2]n[1-4]",
// "10.0.0.[1-8]".
// A range of more than kMaxHosts is rejected before it is expanded.

inline constexpr size_t kMaxHosts = 5000;  // of a list, or of all ranges of a spec

struct HostRange {
  std::vector<std::string> names;  // in order; empty after an error
  size_t wrong_at = 0;             // its offset in the text
  std::string wrong;               // the error; empty: none
};

// Whether it has brackets, other than those around an address as in "[fd00::1]".
bool IsHostRange(std::string_view text);

// Expands a range; text without brackets is a range of one name. Numbers are padded to the width of
// the first number of the range.
HostRange ExpandHostRange(std::string_view text);

// Returns where the first part of a list ends. The separator may be within double quotes, and a
// comma within the brackets of a range.
size_t ListPartEnd(std::string_view text, char separator);

// Splits at such commas. The parts point into `text`.
std::vector<std::string_view> SplitHostList(std::string_view text);

// Returns the error for a longer list.
std::string TooManyHosts();

inline constexpr uint32_t kMaxSlots = 4096;             // device numbers in a spec end at 4095
inline constexpr uint32_t kMaxDevicesOfAMachine = 512;  // a greater number after ':' is a port

struct HostEntry {
  std::string user;               // empty: none given
  std::string host;               // IPv4, IPv6 (without brackets) or host name
  std::optional<uint32_t> slots;  // devices to use
  // Whether the slots come from a scheduler or from repeated names; then they may not be meant as a
  // number of devices.
  bool counted = false;
  std::optional<uint16_t> port = {};         // of the SSH server
  std::string key_file = {};                 // empty: none given
  std::vector<uint32_t> devices = {};        // numbers; empty: the first `slots`
  std::vector<std::string> device_ips = {};  // one for each device, or empty
  std::string proxy_jump = {};               // empty: none given
  std::string note = {};                     // for the reader of the spec; one line
  std::vector<std::string> also = {};        // other names of the machine

  bool operator==(const HostEntry&) const = default;
};

struct HostList {
  std::vector<HostEntry> hosts;       // without duplicates, in the order of first mention
  std::vector<Issue> issues;          // if there are any, do not use the hosts
  std::vector<std::string> warnings;  // open questions about the list
};

// The parts of "[user@]host[:number]"; they point into the text.
struct HostWord {
  std::optional<std::string_view> user;
  std::string_view host;  // without the brackets of an IPv6 address
  std::optional<std::string_view> number;
};

// Splits any text; the parts may be invalid.
HostWord SplitHostWord(std::string_view word);

// Parses "user@a:4,b,gpu[01-16]:8,[fd00::1]:2"; `:N` is the number of devices.
HostList ParseHosts(std::string_view text);

// Returns such a list with ":N" after each host, or range with a host, that needs a number and has
// none: for a hint.
std::string WithPlaceholders(std::string_view text,
                             const std::function<bool(const std::string& host)>& needs_number);

// Collects the hosts of one list, for the parsers. Not thread-safe.
class HostCollector {
 public:
  // `source` names the list in issues.
  explicit HostCollector(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }

  // Both count from 1.
  struct Place {
    size_t line;    // 0: the value of an option or a variable
    size_t column;  // 0: the whole line
  };

  // Adds a host; a repeated one gets the sum of the slots.
  void Add(HostEntry entry, Place place);
  // Parses "[user@]host[:N]"; the host may be a range. `entry` has the other settings of the line.
  void AddWord(std::string_view word, HostEntry entry, Place place);
  // Parses a number of devices; 0 after reporting an issue.
  uint32_t ReadSlots(std::string_view text, Place place, uint32_t max = kMaxSlots);
  // Returns nullopt after reporting an issue.
  std::optional<uint16_t> ReadPort(std::string_view text, Place place);
  void Report(Place place, const std::string& what);
  // Reports an issue of the whole line.
  void ReportLine(size_t line, const std::string& what) { Report({line, 0}, what); }
  void Warn(const std::string& what) { list_.warnings.push_back(what); }

  // Returns the list; a list without hosts has the issue `nothing`.
  HostList Take(const std::string& nothing);

 private:
  // Merges another line for the same host into `first`.
  void Merge(HostEntry& first, const HostEntry& entry, Place place);
  // Adds each host of the range in `entry.host`.
  void AddRange(const HostEntry& entry, Place place);

  std::string source_;
  HostList list_;
  std::map<std::string, size_t> index_;  // by identity
  bool full_ = false;  // more than kMaxHosts hosts or too many issues: the rest is ignored
};

}  // namespace autodist::spec
