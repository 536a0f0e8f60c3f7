// What is wrong with a node's hardware or system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace autodist::health {

enum class Severity {
  kWarning,  // ranks run, but may be slow or fail later
  kFatal,    // ranks fail, hang, or compute wrong results
};

// "SUBJECT WHAT", for example "GPU 0000:3b:00 fell off the bus (XID 79)".
struct Fault {
  Severity severity;
  std::string subject;  // as the source names it; "": the node
  std::string what;
  std::string source;  // "kernel log", "nvidia-smi", "/sys", "/proc"
  std::string remedy;
  std::optional<uint32_t> gpu = {};  // its number in nvidia-smi; absent: none, or unknown
  uint32_t min_gpus = 0;             // concerns only jobs with as many GPUs on the node

  bool operator==(const Fault&) const = default;
};

}  // namespace autodist::health
