// Lists of machines on a command line, and the collector for all other kinds of lists.
//
// Pure functions; all issues are reported at once, as file:line:column.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/host_range.h"
#include "spec/issue.h"

namespace autodist::spec {

inline constexpr uint32_t kMaxSlots = 4096;  // device numbers in a spec end at 4095

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
  std::string note = {};                     // for the reader of the spec; one line
  std::vector<std::string> also = {};        // other names of the machine

  bool operator==(const HostEntry&) const = default;
};

struct HostList {
  std::vector<HostEntry> hosts;       // without duplicates, in the order of first mention
  std::vector<Issue> issues;          // if there are any, do not use the hosts
  std::vector<std::string> warnings;  // open questions about the list
};

// Parses "user@a:4,b,gpu[01-16]:8,[fd00::1]:2"; `:N` is the number of devices.
HostList ParseHosts(std::string_view text);

// Collects the hosts of one list, for the parsers. Not thread-safe.
class HostCollector {
 public:
  // `source` names the list in issues.
  explicit HostCollector(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }

  // Both count from 1.
  struct Place {
    size_t line;
    size_t column;  // 0: the whole line
  };

  // Adds a host; a repeated one gets the sum of the slots.
  void Add(HostEntry entry, Place place);
  // Parses "[user@]host[:N]"; the host may be a range. `entry` has the other settings of the line.
  void AddWord(std::string_view word, HostEntry entry, Place place);
  // Parses a number of devices; 0 after reporting an issue.
  uint32_t ReadSlots(std::string_view text, Place place);
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
