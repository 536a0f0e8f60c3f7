// Reads hostfile lines with one host each: "gpu1", "ann@gpu1:2", "gpu1 slots=2 user=ann".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "spec/host_list.h"
#include "spec/hostfile_form.h"

namespace autodist::spec {

// Not thread-safe.
class HostfileLineReader {
 public:
  explicit HostfileLineReader(HostCollector& collector) : collector_(collector) {}

  // False: the line has no host, which has been reported; the file probably is not a hostfile.
  bool Read(const HostfileLine& line);
  // Adds one warning for all skipped settings.
  void WarnOfUnused();

 private:
  // An option of a line: "slots=2", or "slots = 2" for Open MPI.
  struct Option {
    std::string_view name;
    std::string_view value;
    HostCollector::Place place;        // of the name
    HostCollector::Place value_place;  // of the value
    std::string_view text;             // the whole option
  };

  // kWrong: the issue has been reported.
  enum class Outcome { kRead, kWrong, kNoHost };

  // Reads the options after the host.
  Outcome ReadOptions(const HostfileLine& line, std::vector<Option>& options);
  // Stores the option in `entry`; false after reporting an issue.
  bool Use(const Option& option, HostEntry& entry, bool& has_gpus);
  bool UseDevices(const Option& option, HostEntry& entry, bool& has_gpus);
  bool UsePort(const Option& option, HostEntry& entry);
  bool UseUser(const Option& option, HostEntry& entry);
  void ReadWord(const HostfileLine& line, const HostEntry& entry);
  void ReadExecHosts(const HostfileLine& line);
  Outcome NoHost(const HostfileLine& line);
  void Unused(std::string_view text, size_t line);

  HostCollector& collector_;
  std::vector<std::string> unused_;
  std::vector<std::string> ports_;  // options that were used as ports
};

}  // namespace autodist::spec
