// Parses nvidia-smi's output about GPUs, with --query-gpu=... --format=csv,noheader,nounits. Pure
// logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/sample.pb.h"
#include "health/nvidia_smi.h"
#include "health/pci_place.h"

namespace autodist::agent {

struct GpuRow {
  v1::GpuSample gpu;  // without faults
  std::optional<health::PciPlace> place;
  health::GpuDescription description;  // what shows faults
};

// The queried fields, which differ between drivers.
class GpuFields {
 public:
  // Selects the fields that are in this output of nvidia-smi --help-query-gpu: it rejects a query
  // with an unknown field.
  explicit GpuFields(std::string_view help);

  // Whether the fields identify GPUs.
  bool usable() const { return usable_; }
  std::string Query() const;  // "--query-gpu=index,..."
  // nullopt: not a row, but a message.
  std::optional<GpuRow> Parse(std::string_view row) const;

 private:
  struct Field {
    const char* name;
    void (*take)(std::string_view value, GpuRow& row);  // nullptr: not part of the sample
    const char* path;  // of GpuDescription::values; nullptr: shows no fault
  };
  struct Known;
  std::vector<Field> fields_;
  bool usable_ = false;
};

// Returns the reasons for a reduced clock in a mask of nvml.h (nvmlClocksEventReasons), except
// idleness.
std::vector<std::string> ThrottleReasons(uint64_t mask);

}  // namespace autodist::agent
