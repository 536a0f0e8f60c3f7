#include "health/xid_catalogue.h"

#include <algorithm>
#include <iterator>

namespace autodist::health {
namespace {

using enum XidRemedy;

constexpr XidMeaning kCatalogue[] = {
    {8, kRestartProgram, "stopped processing a program's work"},
    {11, kRestartProgram, "got an invalid command stream from a program"},
    {13, kRestartProgram, "reported an exception of a program, such as an invalid access"},
    {25, kRestartProgram, "got an invalid command stream from a program"},
    {31, kRestartProgram, "reported a page fault of a program"},
    {32, kRestartProgram, "got a corrupted command stream"},
    {37, kNone, "reported a firmware error"},
    {38, kNone, "reported a firmware error"},
    {43, kNone, "ended a program's work after an error of the program"},
    {44, kNone, "had a fault when it changed between programs"},
    {45, kNone, "ended a program's work because of another error"},
    {46, kResetGpu, "stopped processing"},
    {48, kResetGpu, "has a memory error that cannot be corrected"},
    {54, kCheckPower, "lacks auxiliary power"},
    {61, kResetGpu, "reported a microcontroller warning"},
    {62, kResetGpu, "has a halted microcontroller"},
    {63, kNone, "replaced a faulty row of memory"},
    {64, kResetGpu, "could not replace a faulty row of memory"},
    {66, kNone, "reported an illegal access of the driver"},
    {67, kNone, "reported an illegal access of the driver"},
    {68, kRestartProgram, "reported a video decoder exception"},
    {69, kRestartProgram, "reported a class error of a program"},
    {74, kCheckNvlink, "has an NVLink error"},
    {79, kRestartNode, "fell off the bus"},
    {92, kNone, "had many memory errors that were corrected"},
    {94, kRestartProgram, "had a memory error that ended only the affected program"},
    {95, kResetGpu, "had a memory error that may affect all programs"},
    {109, kResetGpu, "did not change between programs in time"},
    {110, kResetGpu, "reported a security fault"},
    {119, kResetGpu, "has a GSP that does not answer"},
    {120, kResetGpu, "reported a GSP error"},
    {121, kNone, "had an error on its link to the CPU"},
    {136, kResetGpu, "could not train a link"},
    {137, kNone, "reported an NVLink access without permission"},
    {140, kResetGpu, "has a memory error that was not corrected"},
    {143, kResetGpu, "could not be initialized"},
    {144, kCheckNvlink, "has an NVLink error", true},
    {145, kCheckNvlink, "has an NVLink error", true},
    {146, kCheckNvlink, "has an NVLink error", true},
    {147, kCheckNvlink, "has an NVLink error", true},
    {148, kCheckNvlink, "has an NVLink error", true},
    {149, kCheckNvlink, "has an NVLink error", true},
    {150, kCheckNvlink, "has an NVLink error", true},
    {154, kRecoveryAction, "needs another recovery action than before"},
    {155, kResetGpu, "reported an NVLink software error"},
    {156, kResetGpu, "reported an error of a resource"},
    {158, kResetGpu, "reported a fatal time-out"},
};

}  // namespace

const XidMeaning* MeaningOf(uint32_t xid) {
  const auto* const found = std::ranges::find(kCatalogue, xid, &XidMeaning::number);
  return found == std::end(kCatalogue) ? nullptr : found;
}

std::string TextOf(XidRemedy remedy, const std::string& gpu) {
  switch (remedy) {
    case kNone:
      break;
    case kRestartProgram:
      return "start the program again; the GPU needs nothing";
    case kResetGpu:
      return "reset the GPU (nvidia-smi --gpu-reset -i " + gpu + ") or restart the node";
    case kRestartNode:
      return "restart the node; if it happens again, have the GPU replaced";
    case kCheckNvlink:
      return "reset the GPUs; if it happens again, have the NVLink of the GPU examined";
    case kCheckPower:
      return "have the power cables of the GPU checked";
    case kRecoveryAction:
      return "take the action that `nvidia-smi -q` shows as GPU Recovery Action";
  }
  return "";
}

bool NeedsRepair(XidRemedy remedy) { return remedy != kNone && remedy != kRestartProgram; }

uint32_t MinGpus(XidRemedy remedy) { return remedy == kCheckNvlink ? 2 : 1; }

}  // namespace autodist::health
