#include "health/kernel_log.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "health/log_text.h"
#include "health/xid.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr char kKernelLog[] = "kernel log";
constexpr std::chrono::hours kRecent{24};
// How many faults of programs on one GPU, and on no other, make the GPU suspicious.
constexpr int kSuspiciousProgramFaults = 2;

// Returns the text before `end`, which is removed from `rest`; nullopt: there is no such end.
std::optional<std::string_view> TakeUntil(std::string_view& rest, std::string_view end) {
  const size_t found = rest.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, found);
  rest.remove_prefix(found + end.size());
  return taken;
}

class Faults {
 public:
  void Add(Severity severity, const std::string& subject, const std::string& what,
           const std::string& remedy) {
    Fault fault{severity, subject, what, kKernelLog, remedy};
    if (std::ranges::count(found_, fault) == 0) found_.push_back(std::move(fault));
  }
  std::vector<Fault> Take() { return std::move(found_); }

 private:
  std::vector<Fault> found_;
};

// Of programs, by XID and GPU.
using ProgramFaults = std::map<uint32_t, std::map<std::string, int>>;

void ReadXid(std::string_view line, Faults& faults, ProgramFaults& of_programs) {
  const auto xid = ParseXid(line);
  const XidMeaning* const meaning = xid ? MeaningOf(xid->number) : nullptr;
  if (meaning == nullptr) return;
  if (meaning->remedy == XidRemedy::kRestartProgram) ++of_programs[xid->number][xid->gpu];
  if (!xid->NeedsRepair()) return;
  faults.Add(Severity::kFatal, "GPU " + xid->gpu,
             std::string(meaning->what) + " (XID " + std::to_string(xid->number) + ")",
             TextOf(meaning->remedy));
}

// "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
void ReadSxid(std::string_view line, Faults& faults) {
  auto rest = After(line, "SXid (PCI:");
  const auto device = rest ? TakeUntil(*rest, "): ") : std::nullopt;
  const uint32_t number = device ? NumberAt<uint32_t>(*rest) : 0;
  if (number == 0 || !After(*rest, ", Fatal,")) return;
  faults.Add(Severity::kFatal, "NVSwitch " + OnlyNameOf(*device),
             "reported a fatal error (SXid " + std::to_string(number) + ")",
             "restart the node; if it happens again, have the NVSwitch examined");
}

void ReadDriver(std::string_view line, Faults& faults) {
  if (After(line, "NVRM: ") && After(line, "RmInitAdapter failed!")) {
    auto rest = After(line, "NVRM: GPU ");
    const auto device = rest ? TakeUntil(*rest, ": RmInit") : std::nullopt;
    faults.Add(Severity::kFatal, device ? "GPU " + OnlyNameOf(*device) : "a GPU",
               "could not be initialized by the driver",
               "restart the node; if it happens again, have the GPU replaced");
  }
  if (After(line, "NVRM: API mismatch:")) {
    faults.Add(Severity::kFatal, "the driver", "is not of the same version as its libraries",
               "restart the node, or load the driver again");
  }
}

// "pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", in newer kernels
// "AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0". Corrected errors are
// common.
void ReadPci(std::string_view line, Faults& faults) {
  auto rest = After(line, "AER: ");
  if (!rest || line.find("ncorrect") == std::string_view::npos) return;
  auto device = After(*rest, "error received: ");
  if (!device) device = After(*rest, "message received from ");
  if (!device) return;
  const bool fatal = rest->find("(Fatal)") != std::string_view::npos;
  faults.Add(fatal ? Severity::kFatal : Severity::kWarning,
             "PCI device " + OnlyNameOf(device->substr(0, device->find(' '))),
             fatal ? "had a fatal PCIe error" : "had a PCIe error that was not corrected",
             "restart the node; if it happens again, have the device and its slot examined");
}

void ReadMemory(std::string_view line, Faults& faults) {
  constexpr char kExamine[] = "have the memory module replaced";
  if (After(line, "Memory failure: ") && After(line, "due to hardware memory corruption")) {
    faults.Add(Severity::kFatal, "", "has a memory error that ended a program", kExamine);
  } else if (After(line, "EDAC MC") && After(line, " UE ")) {
    faults.Add(Severity::kFatal, "", "has a memory error that cannot be corrected", kExamine);
  } else if (After(line, "mce: [Hardware Error]: CPU ") && After(line, "Machine Check Exception")) {
    faults.Add(Severity::kFatal, "", "had a machine check exception",
               "have the processor and memory examined");
  }
}

void ReadNetworkCard(std::string_view line, Faults& faults) {
  auto rest = After(line, "mlx5_core ");
  if (!rest) return;
  std::string_view place = rest->substr(0, rest->find(' '));
  if (place.ends_with(':')) place.remove_suffix(1);
  const std::string device = "network card " + OnlyNameOf(place);
  if (After(line, "TX timeout detected")) {
    faults.Add(Severity::kWarning, device, "did not send in time", "restart the node");
  } else if (After(line, "health compromised")) {
    faults.Add(Severity::kFatal, device, "has firmware that does not answer",
               "restart the node; if it happens again, have the card replaced");
  }
}

// "INFO: task python3:4711 blocked for more than 120 seconds."
void ReadHungTask(std::string_view line, Faults& faults) {
  auto rest = After(line, "INFO: task ");
  if (!rest || !After(*rest, " blocked for more than ")) return;
  const std::string_view task = rest->substr(0, rest->find(' '));
  faults.Add(Severity::kWarning, "process " + OnlyNameOf(task.substr(0, task.rfind(':'))),
             "hung in a driver or file system",
             "see the kernel log for what it waited for, such as a file server or a device");
}

// A program that fails on one GPU only may have met a faulty GPU.
void CheckProgramFaults(const ProgramFaults& of_programs, size_t gpus, Faults& faults) {
  for (const auto& [xid, by_gpu] : of_programs) {
    if (gpus == 1 || by_gpu.size() != 1) continue;
    const auto& [device, count] = *by_gpu.begin();
    if (count < kSuspiciousProgramFaults) continue;
    faults.Add(Severity::kWarning, "GPU " + device,
               std::string(MeaningOf(xid)->what) + " (XID " + std::to_string(xid) +
                   ") repeatedly, and no other GPU did",
               "reset the GPU; if it happens again, have it examined");
  }
}

}  // namespace

std::vector<Fault> FindInKernelLog(const std::vector<LogLine>& lines, size_t gpus) {
  Faults faults;
  ProgramFaults of_programs;
  for (const auto& [line, age] : lines) {
    ReadXid(line, faults, of_programs);
    ReadSxid(line, faults);
    ReadDriver(line, faults);
    if (age > kRecent) continue;
    ReadPci(line, faults);
    ReadMemory(line, faults);
    ReadNetworkCard(line, faults);
    ReadHungTask(line, faults);
  }
  CheckProgramFaults(of_programs, gpus, faults);
  return faults.Take();
}

}  // namespace autodist::health
