// Lists of machines on a command line, and what gathers those of every other list.
//
// Pure functions; what is wrong is told all at once, as file:line:column.
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
  // Whether the slots are those of a scheduler, or of names that appear again, which does not say
  // that anyone wants devices there.
  bool counted = false;
  std::optional<uint16_t> port = {};         // of its SSH server
  std::string key_file = {};                 // empty: none given
  std::vector<uint32_t> devices = {};        // by their numbers; empty: the first `slots`
  std::vector<std::string> device_ips = {};  // of each of them, or none
  std::string note = {};                     // what a reader should know; one line
  std::vector<std::string> also = {};        // other names of the machine

  bool operator==(const HostEntry&) const = default;
};

struct HostList {
  std::vector<HostEntry> hosts;       // each once, in the order in which they are first named
  std::vector<Issue> issues;          // where there are any, the hosts are not to be used
  std::vector<std::string> warnings;  // what the list leaves open
};

// "user@a:4,b,gpu[01-16]:8,[fd00::1]:2": `:N` is the number of devices.
HostList ParseHosts(std::string_view text);

// Gathers the hosts of one list, for the parsers. Not thread-safe.
class HostCollector {
 public:
  // `source` names the list in issues.
  explicit HostCollector(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }

  // Both numbers from 1.
  struct Place {
    size_t line;
    size_t column;  // 0: the whole line
  };

  // A host named before gets the slots of both.
  void Add(HostEntry entry, Place place);
  // "[user@]host[:N]"; the host may be a range. `entry` has what stands elsewhere on the line.
  void AddWord(std::string_view word, HostEntry entry, Place place);
  // A number of devices; 0 after a report of what is wrong with it.
  uint32_t ReadSlots(std::string_view text, Place place);
  // nullopt after such a report.
  std::optional<uint16_t> ReadPort(std::string_view text, Place place);
  void Report(Place place, const std::string& what);
  // The line as a whole.
  void ReportLine(size_t line, const std::string& what) { Report({line, 0}, what); }
  void Warn(const std::string& what) { list_.warnings.push_back(what); }

  // The list; one without any host has the issue `nothing`.
  HostList Take(const std::string& nothing);

 private:
  // Adds to the host `first` what another line says of it.
  void Merge(HostEntry& first, const HostEntry& entry, Place place);
  // Each host of the range that `entry.host` is.
  void AddRange(const HostEntry& entry, Place place);

  std::string source_;
  HostList list_;
  std::map<std::string, size_t> index_;  // by identity
  bool full_ = false;  // more than kMaxHosts were added, or too much is wrong: the rest is ignored
};

}  // namespace autodist::spec
