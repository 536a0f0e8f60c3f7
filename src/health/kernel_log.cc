#include "health/kernel_log.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/parse_number.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr char kKernelLog[] = "kernel log";
constexpr std::chrono::hours kRecent{24};
constexpr size_t kMaxDevice = 32;  // bytes of a name in a fault
// How many faults of programs on one GPU, and on no other, make the GPU suspicious.
constexpr int kSuspiciousProgramFaults = 2;

std::optional<std::string_view> After(std::string_view line, std::string_view begin) {
  const size_t found = line.find(begin);
  if (found == std::string_view::npos) return std::nullopt;
  return line.substr(found + begin.size());
}

// Returns the text before `end`, which is removed from `rest`; nullopt: there is no such end.
std::optional<std::string_view> TakeUntil(std::string_view& rest, std::string_view end) {
  const size_t found = rest.find(end);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, found);
  rest.remove_prefix(found + end.size());
  return taken;
}

uint32_t TakeNumber(std::string_view text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return base::ParseNumber<uint32_t>(std::string_view(text.begin(), end)).value_or(0);
}

// Only what a PCI address or the name of an interface has.
std::string DeviceName(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMaxDevice)) {
    const bool usual = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.' ||
                       c == '-' || c == '_';
    if (usual) name.push_back(c);
  }
  return name;
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

struct DriverError {
  std::string device;
  uint32_t number;
  std::string_view rest;
};

// "NVRM: Xid (PCI:0000:3b:00): 79, pid=..., GPU has fallen off the bus."
// "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
std::optional<DriverError> ParseDriverError(std::string_view line, std::string_view label) {
  auto rest = After(line, label);
  if (!rest) return std::nullopt;
  const auto device = TakeUntil(*rest, "): ");
  if (!device) return std::nullopt;
  const uint32_t number = TakeNumber(*rest);
  if (number == 0) return std::nullopt;
  return DriverError{DeviceName(*device), number, *rest};
}

// Of programs, by XID and GPU.
using ProgramFaults = std::map<uint32_t, std::map<std::string, int>>;

void ReadXid(std::string_view line, Faults& faults, ProgramFaults& of_programs) {
  const auto xid = ParseDriverError(line, "NVRM: Xid (PCI:");
  if (!xid) return;
  const XidMeaning* const meaning = MeaningOf(xid->number);
  if (meaning == nullptr) return;
  if (meaning->remedy == XidRemedy::kRestartProgram) ++of_programs[xid->number][xid->device];
  if (!NeedsRepair(meaning->remedy)) return;
  // "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
  const auto action = After(xid->rest, " to ");
  if (xid->number == 154 && action && action->find("(None)") != std::string_view::npos) return;
  faults.Add(Severity::kFatal, "GPU " + xid->device,
             std::string(meaning->what) + " (XID " + std::to_string(xid->number) + ")",
             TextOf(meaning->remedy));
}

void ReadSxid(std::string_view line, Faults& faults) {
  const auto sxid = ParseDriverError(line, "SXid (PCI:");
  if (!sxid || sxid->rest.find(", Fatal,") == std::string_view::npos) return;
  faults.Add(Severity::kFatal, "NVSwitch " + sxid->device,
             "reported a fatal error (SXid " + std::to_string(sxid->number) + ")",
             "restart the node; if it happens again, have the NVSwitch examined");
}

void ReadDriver(std::string_view line, Faults& faults) {
  if (After(line, "NVRM: ") && After(line, "RmInitAdapter failed!")) {
    auto rest = After(line, "NVRM: GPU ");
    const auto device = rest ? TakeUntil(*rest, ": RmInit") : std::nullopt;
    faults.Add(Severity::kFatal, device ? "GPU " + DeviceName(*device) : "a GPU",
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
             "PCI device " + DeviceName(device->substr(0, device->find(' '))),
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
  const std::string device = "network card " + DeviceName(place);
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
  faults.Add(Severity::kWarning, "process " + DeviceName(task.substr(0, task.rfind(':'))),
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
