// The meaning of XIDs, the error numbers of NVIDIA's driver, and what NVIDIA advises. Source:
// NVIDIA's "XID Errors" and its XID catalogue of October 2025.
#pragma once

#include <cstdint>

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
  const char* what;  // follows the name of a GPU: "fell off the bus"
};

// Returns nullptr if the catalogue lacks the number.
const XidMeaning* MeaningOf(uint32_t xid);

// Returns "reset the GPU (...)", for messages; "" for kNone.
const char* TextOf(XidRemedy remedy);

// Whether the GPU cannot be trusted until the remedy was applied.
bool NeedsRepair(XidRemedy remedy);

}  // namespace autodist::health
