// What nvidia-smi says of GPUs, asked with --query-gpu=... --format=csv,noheader,nounits. Pure
// logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// Where a GPU is on the PCI bus, as one number.
using PciPlace = uint64_t;
// "00000000:3B:00.0", or "0000:3b:00".
std::optional<PciPlace> ParsePciPlace(std::string_view text);

struct GpuRow {
  v1::GpuSample gpu;
  std::optional<PciPlace> place;
};

// The fields that are asked for, which differ between drivers.
class GpuFields {
 public:
  // Those that are known to the nvidia-smi that prints this with --help-query-gpu: it refuses a
  // query with one that it does not know.
  explicit GpuFields(std::string_view help);

  // Whether GPUs can be told apart.
  bool usable() const { return usable_; }
  std::string Query() const;  // "--query-gpu=index,..."
  // nullopt: it is no row, but words.
  std::optional<GpuRow> Parse(std::string_view row) const;

 private:
  struct Field {
    const char* name;
    void (*take)(std::string_view value, GpuRow& row);  // where it is a value at all
  };
  struct Known;
  std::vector<Field> fields_;
  bool usable_ = false;
};

// Of a mask as nvml.h has it (nvmlClocksEventReasons): what holds a clock down. That a GPU has
// nothing to do does not.
std::vector<std::string> ThrottleReasons(uint64_t mask);

}  // namespace autodist::agent
