// Errors of GPUs that NVIDIA's driver reports in the kernel's log. Format: NVIDIA's "XID Errors".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::health {

// "NVRM: Xid (PCI:0000:3b:00): 43, pid=4711, name=python3, channel 0x00000002"
struct Xid {
  std::string gpu;  // its PCI address: "0000:3b:00"
  uint32_t number;
  // In the machine's PID namespace, even in a container; absent: unknown.
  std::optional<pid_t> pid;
  std::string_view text;  // what follows the number

  // Whether a program caused it, rather than the GPU.
  bool IsOfProgram() const;
  // Whether the GPU cannot be trusted until it is reset or repaired.
  bool NeedsRepair() const;
  // Returns the part of the GPU: "GPC 1, TPC 2, SM 0"; "": unknown.
  std::string Unit() const;
};

// nullopt: the line does not begin as one of the driver. The result refers to `line`.
std::optional<Xid> ParseXid(std::string_view line);

}  // namespace autodist::health
