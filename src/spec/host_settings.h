// What lists of machines say about a host: the names of settings, and their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "spec/host_list.h"

namespace autodist::spec {

enum class HostSetting {
  kUnknown,
  kAddress,
  kHost,
  kName,  // another name of the machine
  kUser,
  kPort,
  kKeyFile,
  kProxyJump,
  kGpus,
  kSlots,      // devices; the number of GPUs takes precedence
  kSlotLimit,  // max_slots; no effect
  kRank,       // no effect
  kPassword,   // an error
};

// Returns the name of the setting for messages.
std::string_view SettingText(HostSetting setting);

// Returns the setting that has this name in some list: kSlots for "ncpus".
HostSetting SettingNamed(std::string_view name);

// Whether the number is more likely an SSH port, as in "host:22", than a number of devices.
bool IsLikeAPort(uint32_t number);

// Formats a part of a line for a warning: "'x=1' (line 2)".
std::string PartOfLine(std::string_view part, size_t line);

// The settings of one host while its line is read. Not thread-safe.
class HostSettings {
 public:
  explicit HostSettings(HostCollector& collector) : collector_(collector) {}

  struct Value {
    std::string_view name;  // of the option or column
    std::string_view text;
    HostCollector::Place place;       // of the name
    HostCollector::Place text_place;  // of the text
  };
  // kWrong: the issue has been reported.
  enum class Outcome { kUsed, kUnused, kWrong };

  Outcome Use(HostSetting setting, const Value& value);
  HostEntry& entry() { return entry_; }

  // Adds the host of "[ssh://][user@]host[:port]" with these settings.
  void AddLogin(std::string_view word, HostCollector::Place place);

 private:
  Outcome UseDevices(bool gpus, const Value& value);
  // Stores a text that is valid, or reports why it is not.
  Outcome UseText(const Status& valid, std::string& to, const Value& value);

  HostCollector& collector_;
  HostEntry entry_;
  bool has_gpus_ = false;
};

}  // namespace autodist::spec
