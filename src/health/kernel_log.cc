#include "health/kernel_log.h"

#include <sys/types.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string>

#include "base/parse_number.h"
#include "base/split.h"
#include "health/log_text.h"
#include "health/xid.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr char kKernelLog[] = "kernel log";
constexpr std::chrono::hours kRecent{24};
constexpr size_t kMaxProgramName = 15;  // bytes of the name of a program, which may have any text

class Faults {
 public:
  void Add(Severity severity, const std::string& subject, const std::string& what,
           const std::string& remedy, uint32_t min_gpus = 0) {
    Fault fault{severity, subject, what, kKernelLog, remedy, {}, min_gpus};
    if (std::ranges::count(found_, fault) == 0) found_.push_back(std::move(fault));
  }
  std::vector<Fault> Take() { return std::move(found_); }

 private:
  std::vector<Fault> found_;
};

bool Has(const std::vector<PciPlace>& gpus, std::string_view address) {
  return std::ranges::count(gpus, ParsePciPlace(address)) > 0;
}

void ReadXid(std::string_view line, const std::vector<PciPlace>& gpus, Faults& faults) {
  const auto xid = ParseXid(line);
  if (!xid || !xid->NeedsRepair() || !Has(gpus, xid->gpu)) return;
  const XidMeaning& meaning = *MeaningOf(xid->number);
  faults.Add(Severity::kFatal, "GPU " + xid->gpu,
             std::string(meaning.what) + " (XID " + std::to_string(xid->number) + ")",
             TextOf(meaning.remedy, xid->gpu + ".0"), MinGpus(meaning.remedy));
}

// "nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
void ReadSxid(std::string_view line, Faults& faults) {
  if (!base::TakePrefix(line, "nvidia-nvswitch") || !base::TakeNumber<uint32_t>(line) ||
      !base::TakePrefix(line, ": SXid (PCI:")) {
    return;
  }
  const auto device = TakePciPlace(line, "): ");
  const auto number = device ? base::TakeNumber<uint32_t>(line) : std::nullopt;
  if (!number || !line.starts_with(", Fatal,")) return;
  faults.Add(Severity::kFatal, "NVSwitch " + std::string(*device),
             "reported a fatal error (SXid " + std::to_string(*number) + ")",
             "restart the node; if it happens again, have the NVSwitch examined",
             MinGpus(XidRemedy::kCheckNvlink));
}

// "NVRM: GPU 0000:5e:00.0: RmInitAdapter failed! (0x24:0x65:1423)"
void ReadInitialization(std::string_view line, const std::vector<PciPlace>& gpus, Faults& faults) {
  if (!base::TakePrefix(line, "NVRM: GPU ")) return;
  const auto gpu = TakePciPlace(line, ": ");
  if (!gpu || !Has(gpus, *gpu) || !line.starts_with("RmInitAdapter failed!")) return;
  faults.Add(Severity::kFatal, "GPU " + std::string(*gpu), "could not be initialized by the driver",
             "restart the node; if it happens again, have the GPU replaced", 1);
}

// "pcieport 0000:00:03.0: AER: Uncorrected (Fatal) error received: 0000:3b:00.0", in newer kernels
// "AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0". Corrected errors are
// common.
void ReadPci(std::string_view line, Faults& faults) {
  if (!base::TakePrefix(line, "pcieport ") || !TakePciPlace(line, ": AER: ")) return;
  base::TakePrefix(line, "Multiple ");
  if (!line.starts_with("Uncorrect")) return;
  auto device = After(line, "error received: ");
  if (!device) device = After(line, "message received from ");
  if (!device) return;
  const bool fatal = line.find("(Fatal)") != std::string_view::npos;
  faults.Add(fatal ? Severity::kFatal : Severity::kWarning,
             "PCI device " + OnlyNameOf(device->substr(0, device->find(' '))),
             fatal ? "had a fatal PCIe error" : "had a PCIe error that was not corrected",
             "restart the node; if it happens again, have the device and its slot examined");
}

// "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (…)"
bool IsUncorrected(std::string_view line) {
  return base::TakePrefix(line, "EDAC MC") && base::TakeNumber<uint32_t>(line) &&
         base::TakePrefix(line, ": ") && base::TakeNumber<uint32_t>(line) &&
         base::TakePrefix(line, " UE ") && !line.empty() &&
         std::isalpha(static_cast<unsigned char>(line[0])) != 0 &&
         (line.starts_with("on ") || After(line, " on "));
}

void ReadMemory(std::string_view line, Faults& faults) {
  constexpr char kExamine[] = "have the memory module replaced";
  if (line.starts_with("Memory failure: ") && After(line, "due to hardware memory corruption")) {
    faults.Add(Severity::kFatal, "", "has a memory error that ended a program", kExamine);
  } else if (IsUncorrected(line)) {
    faults.Add(Severity::kFatal, "", "has a memory error that cannot be corrected", kExamine);
  } else if (line.starts_with("mce: [Hardware Error]: CPU ") &&
             After(line, "Machine Check Exception")) {
    faults.Add(Severity::kFatal, "", "had a machine check exception",
               "have the processor and memory examined");
  }
}

void ReadNetworkCard(std::string_view line, Faults& faults) {
  if (!base::TakePrefix(line, "mlx5_core ")) return;
  std::string_view place = line.substr(0, line.find(' '));
  if (place.ends_with(':')) place.remove_suffix(1);
  if (!ParsePciPlace(place)) return;
  const std::string device = "network card " + std::string(place);
  if (After(line, "TX timeout detected")) {
    faults.Add(Severity::kWarning, device, "did not send in time", "restart the node");
  } else if (After(line, "health compromised")) {
    faults.Add(Severity::kFatal, device, "has firmware that does not answer",
               "restart the node; if it happens again, have the card replaced");
  }
}

// "INFO: task python3:4711 blocked for more than 120 seconds."
void ReadHungTask(std::string_view line, Faults& faults) {
  if (!base::TakePrefix(line, "INFO: task ")) return;
  const std::string_view task = line.substr(0, line.find(" blocked for more than "));
  const size_t name = task.rfind(':');
  if (name > kMaxProgramName || !base::ParseNumber<pid_t>(task.substr(name + 1))) return;
  faults.Add(Severity::kWarning, "process " + OnlyNameOf(task.substr(0, name)),
             "hung in a driver or file system",
             "see the kernel log for what it waited for, such as a file server or a device");
}

}  // namespace

std::vector<Fault> FindInKernelLog(const std::vector<LogLine>& lines,
                                   const std::vector<PciPlace>& gpus) {
  Faults of_driver;
  Faults of_day;
  for (const auto& [line, age] : lines) {
    if (line.starts_with("NVRM: loading NVIDIA")) of_driver = {};
    ReadXid(line, gpus, of_driver);
    ReadSxid(line, of_driver);
    ReadInitialization(line, gpus, of_driver);
    if (age > kRecent) continue;
    ReadPci(line, of_day);
    ReadMemory(line, of_day);
    ReadNetworkCard(line, of_day);
    ReadHungTask(line, of_day);
  }
  std::vector<Fault> faults = of_driver.Take();
  std::ranges::move(of_day.Take(), std::back_inserter(faults));
  return faults;
}

}  // namespace autodist::health
