// The meaning of XIDs, the error numbers of NVIDIA's driver, and what NVIDIA advises. Source:
// NVIDIA's "XID Errors" and its XID catalogue of October 2025.
#pragma once

#include <cstdint>
#include <string>

namespace autodist::health {

enum class XidRemedy {
  kNone,            // for information
  kRestartProgram,  // the GPU can be used again at once
  kResetGpu,
  kRestartNode,
  kCheckNvlink,
  kCheckPower,
  kRecoveryAction,  // the one that nvidia-smi shows
};

struct XidMeaning {
  uint32_t number;
  XidRemedy remedy;
  const char* what;           // follows the name of a GPU: "fell off the bus"
  bool has_severity = false;  // the driver adds "Fatal" or "Nonfatal"
};

// Returns nullptr if the catalogue lacks the number.
const XidMeaning* MeaningOf(uint32_t xid);

// Returns "reset the GPU (...)", for messages; "" for kNone. `gpu`: as `nvidia-smi -i` takes it.
std::string TextOf(XidRemedy remedy, const std::string& gpu);

// Whether the GPU cannot be trusted until the remedy was applied.
bool NeedsRepair(XidRemedy remedy);

// Returns how many GPUs of the node a job must use for the error to concern it: 2 for NVLink.
uint32_t MinGpus(XidRemedy remedy);

}  // namespace autodist::health
