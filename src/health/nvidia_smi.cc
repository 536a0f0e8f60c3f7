#include "health/nvidia_smi.h"

#include <absl/strings/ascii.h>
#include <expat.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <set>

#include "base/parse_number.h"
#include "base/split.h"
#include "health/xid_catalogue.h"

namespace autodist::health {
namespace {

constexpr char kNvidiaSmi[] = "nvidia-smi";
constexpr std::string_view kGpu = "GPU ";
constexpr std::string_view kNoHandle = "Unable to determine the device handle";
constexpr char kReplace[] = "have the GPU replaced";
constexpr char kCool[] = "check the cooling and power supply of the node";
constexpr char kReseat[] = "have the GPU and its slot examined";

// Limits as cloud providers use them for data-centre GPUs.
constexpr uint64_t kMaxCorrectable = 20'000'000;  // errors of DRAM since the GPU was made
constexpr uint64_t kMaxCorrectableSram = 10'000;  // errors of SRAM
constexpr uint64_t kMaxRemappedRows = 512;        // because of errors that were not corrected
constexpr uint64_t kMaxRetiredPages = 62;         // the GPU can retire 64

class GpuChecker {
 public:
  GpuChecker(const GpuDescription& gpu, uint32_t number, std::vector<Fault>& faults)
      : gpu_(gpu),
        number_(number),
        reset_(TextOf(XidRemedy::kResetGpu, std::to_string(number))),
        faults_(faults) {}

  void Check() {
    CheckRecovery();
    CheckEcc();
    CheckRepairs();
    CheckClocks();
    CheckLink();
    CheckMode();
  }

 private:
  void Fatal(const std::string& what, const std::string& remedy) {
    Add(Severity::kFatal, what, remedy);
  }
  void Warn(const std::string& what, const std::string& remedy) {
    Add(Severity::kWarning, what, remedy);
  }
  void Add(Severity severity, const std::string& what, const std::string& remedy) {
    faults_.push_back(
        {severity, "GPU " + std::to_string(number_), what, kNvidiaSmi, remedy, number_, 1});
  }

  // Returns "" if it is absent or "N/A".
  std::string Value(const std::string& path) const {
    const auto found = gpu_.values.find(path);
    return found == gpu_.values.end() || found->second == "N/A" ? "" : found->second;
  }
  // Returns the number at the beginning, before a unit.
  std::optional<uint64_t> Number(const std::string& path) const {
    const std::string value = Value(path);
    const size_t end = value.find_first_not_of("0123456789");
    return base::ParseNumber<uint64_t>(std::string_view(value).substr(0, end));
  }
  uint64_t NumberOr0(const std::string& path) const { return Number(path).value_or(0); }
  bool Is(const std::string& path, const std::string& value) const { return Value(path) == value; }

  void CheckRecovery() {
    for (const auto& [path, value] : gpu_.values) {
      if (value.find("GPU requires reset") != std::string::npos) {
        return Fatal("must be reset", reset_);
      }
      if (value.find("GPU is lost") != std::string::npos) {
        return Fatal("is lost", "restart the node; if it happens again, have the GPU replaced");
      }
    }
    // Drivers before 570 have these in place of the recovery action.
    if (Is("gpu_reset_status/reset_required", "Yes")) return Fatal("must be reset", reset_);
    if (Is("gpu_reset_status/drain_and_reset_recommended", "Yes")) {
      return Fatal("must be reset before other programs use it", reset_);
    }
    const std::string action = Value("gpu_recovery_action");
    if (action.empty() || action == "None") return;
    Fatal("needs a recovery action: " + action,
          action.find("Reboot") != std::string::npos ? "restart the node" : reset_);
  }

  // Before driver 530, sram_uncorrectable was one number. A query of single properties has a total.
  void CheckEcc() {
    uint64_t uncorrectable = 0;
    for (const char* name : {"sram_uncorrectable", "sram_uncorrectable_parity",
                             "sram_uncorrectable_secded", "dram_uncorrectable", "uncorrected"}) {
      uncorrectable += NumberOr0(std::string("ecc_errors/volatile/") + name);
    }
    if (uncorrectable > 0) {
      Fatal("had " + std::to_string(uncorrectable) +
                (uncorrectable == 1 ? " memory error that was" : " memory errors that were") +
                " not corrected since the driver was loaded",
            reset_);
    }
    if (Is("ecc_errors/aggregate/sram_threshold_exceeded", "Yes")) {
      Fatal("had too many SRAM errors", kReplace);
    }
    if (NumberOr0("ecc_errors/aggregate/dram_correctable") > kMaxCorrectable ||
        NumberOr0("ecc_errors/aggregate/sram_correctable") > kMaxCorrectableSram) {
      Warn("had unusually many memory errors, which were corrected", kReplace);
    }
  }

  void CheckRepairs() {
    if (Is("remapped_rows/remapped_row_failure", "Yes")) {
      Fatal("could not replace a faulty row of memory", kReplace);
    }
    if (Is("remapped_rows/remapped_row_pending", "Yes")) {
      Fatal("has a faulty row of memory that is replaced at a reset", reset_);
    }
    for (const char* repair : {"channel_repair_pending", "tpc_repair_pending"}) {
      if (Is(std::string("ecc_errors/") + repair, "Yes")) {
        Fatal("has a faulty part that is repaired at a reset", reset_);
      }
    }
    if (NumberOr0("remapped_rows/remapped_row_unc") > kMaxRemappedRows) {
      Warn("has replaced unusually many rows of memory", kReplace);
    }
    if (Is("retired_pages/pending_retirement", "Yes") ||
        Is("retired_pages/pending_blacklist", "Yes")) {
      Fatal("has faulty memory that is retired at a reset", reset_);
    }
    if (NumberOr0("retired_pages/multiple_single_bit_retirement/retired_count") +
            NumberOr0("retired_pages/double_bit_retirement/retired_count") >=
        kMaxRetiredPages) {
      Fatal("can retire hardly any more faulty memory", kReplace);
    }
  }

  // Called clocks_throttle_reasons before driver 535.
  void CheckClocks() {
    const auto active = [&](const std::string& reason) {
      return Is("clocks_event_reasons/clocks_event_reason_" + reason, "Active") ||
             Is("clocks_throttle_reasons/clocks_throttle_reason_" + reason, "Active");
    };
    if (active("hw_thermal_slowdown")) {
      Warn("is slowed down because it is too hot", kCool);
    } else if (active("hw_power_brake_slowdown")) {
      Warn("is slowed down because the power supply asks for it", kCool);
    } else if (active("hw_slowdown")) {
      Warn("is slowed down because of heat or power", kCool);
    } else if (active("sw_thermal_slowdown")) {
      Warn("is slowed down because it is hot", kCool);
    }
  }

  // The generation drops while a GPU is idle; its width does not.
  void CheckLink() {
    const std::string widths = "pci/pci_gpu_link_info/link_widths/";
    const auto lanes = Number(widths + "current_link_width");
    const auto most = Number(widths + "max_link_width");
    if (lanes && most && *lanes < *most) {
      Warn("uses " + std::to_string(*lanes) + " of " + std::to_string(*most) + " PCIe lanes",
           kReseat);
    }
    const std::string generations = "pci/pci_gpu_link_info/pcie_gen/";
    const auto generation = Number(generations + "current_link_gen");
    const auto newest = Number(generations + "max_link_gen");
    if (generation && newest && *generation < *newest && Is("performance_state", "P0") &&
        gpu_.processes > 0) {
      Warn("uses PCIe " + std::to_string(*generation) + " in place of " + std::to_string(*newest),
           kReseat);
    }
  }

  void CheckMode() {
    if (Is("compute_mode", "Prohibited")) {
      Fatal("does not accept programs: its compute mode is Prohibited",
            "nvidia-smi --compute-mode=DEFAULT");
    }
  }

  const GpuDescription& gpu_;
  const uint32_t number_;
  const std::string reset_;  // the remedy
  std::vector<Fault>& faults_;
};

// Of GPUs of the same product.
void CheckEqual(const std::vector<GpuDescription>& gpus, const std::string& path,
                const std::string& what, std::vector<Fault>& faults) {
  std::map<std::string, std::set<std::string>> values;  // by product
  for (const GpuDescription& gpu : gpus) {
    const auto product = gpu.values.find("product_name");
    const auto value = gpu.values.find(path);
    if (product == gpu.values.end() || value == gpu.values.end()) continue;
    values[product->second].insert(value->second);
  }
  for (const auto& [product, different] : values) {
    if (different.size() < 2) continue;
    std::string text;
    for (const std::string& value : different) text += (text.empty() ? "" : ", ") + value;
    faults.push_back({Severity::kWarning,
                      "",
                      "has GPUs of the same kind with different " + what + ": " + text,
                      kNvidiaSmi,
                      "bring them to the same version",
                      {},
                      2});
  }
}

// "GPU 0000:3B:00.0", of "GPU0000:3B:00.0: Unknown Error" and "GPU1: 0000:3B:00.0: GPU is lost".
std::string GpuWithoutHandle(std::string_view printed) {
  constexpr std::string_view kOfAddress = "0123456789abcdefABCDEF:.";
  const size_t found = printed.find(kNoHandle);
  if (found == std::string_view::npos) return "a GPU";
  printed.remove_prefix(found + kNoHandle.size());
  printed = printed.substr(0, printed.find('\n'));
  while (!printed.empty()) {
    const size_t begin = std::min(printed.find_first_of(kOfAddress), printed.size());
    printed.remove_prefix(begin);
    std::string_view word = printed.substr(0, printed.find_first_not_of(kOfAddress));
    printed.remove_prefix(word.size());
    while (word.ends_with(':') || word.ends_with('.')) word.remove_suffix(1);
    if (word.find('.') != word.npos && ParsePciPlace(word)) return "GPU " + std::string(word);
  }
  return "a GPU";
}

// Whether it needs no repair; false if that is unknown.
bool Works(const GpuDescription& gpu) {
  const auto action = gpu.values.find("gpu_recovery_action");
  if (action != gpu.values.end()) return action->second == "None";
  const auto answer = gpu.values.find("temperature/gpu_temp");
  return answer != gpu.values.end() &&
         std::isdigit(static_cast<unsigned char>(answer->second[0])) &&
         std::ranges::count(FindInGpu(gpu, 0), Severity::kFatal, &Fault::severity) == 0;
}

constexpr size_t kMaxGpus = 256;
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxValues = 4'096;  // of a GPU
constexpr size_t kMaxValue = 256;     // bytes

// Reads the XML of nvidia-smi.
class Reader {
 public:
  explicit Reader(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser,
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Reader*>(self)->Begin(name, attributes);
        },
        [](void* self, const XML_Char*) { static_cast<Reader*>(self)->End(); });
    XML_SetCharacterDataHandler(parser, [](void* self, const XML_Char* text, int size) {
      static_cast<Reader*>(self)->AddText({text, static_cast<size_t>(size)});
    });
    // Nothing that nvidia-smi writes declares entities.
    XML_SetEntityDeclHandler(parser, [](void* self, const XML_Char*, int, const XML_Char*, int,
                                        const XML_Char*, const XML_Char*, const XML_Char*,
                                        const XML_Char*) { static_cast<Reader*>(self)->Refuse(); });
  }

  // Whether it has as many GPUs as it says: the name of a process may look like one more.
  bool Complete() const { return std::to_string(gpus_.size()) == attached_; }
  std::vector<GpuDescription> Take() { return std::move(gpus_); }

 private:
  void Refuse() { XML_StopParser(parser_, XML_FALSE); }

  void Begin(std::string_view name, const XML_Char** attributes) {
    if (path_.size() >= kMaxDepth) return Refuse();
    // What follows may have texts of any user, the names of processes.
    if (InGpu() && path_.size() == 2 && name == "processes") among_processes_ = true;
    if (path_.size() == 1 && name == "gpu") {
      if (gpus_.size() >= kMaxGpus) return Refuse();
      gpus_.emplace_back();
      among_processes_ = false;
      for (; attributes[0] != nullptr; attributes += 2) {
        if (std::string_view(attributes[0]) == "id") gpus_.back().bus_id = attributes[1];
      }
    }
    path_.emplace_back(name);
    if (InGpu() && name == "process_info") ++gpus_.back().processes;
    text_.clear();
  }

  void AddText(std::string_view text) {
    text_ += text.substr(0, kMaxValue - std::min(kMaxValue, text_.size()));
  }

  void End() {
    if (const std::string value(absl::StripAsciiWhitespace(text_));
        InGpu() && path_.size() > 2 && !value.empty()) {
      std::string path = path_[2];
      for (size_t i = 3; i < path_.size(); ++i) path += "/" + path_[i];
      auto& values = gpus_.back().values;
      if (values.size() < kMaxValues && !among_processes_) values.emplace(path, value);
    } else if (path_.size() == 2 && path_[1] == "attached_gpus" && attached_.empty()) {
      attached_ = value;
    }
    text_.clear();
    path_.pop_back();
  }

  bool InGpu() const { return path_.size() >= 2 && path_[1] == "gpu"; }

  const XML_Parser parser_;
  std::vector<std::string> path_;  // of the current element
  std::string text_;               // of the current element, so far
  std::vector<GpuDescription> gpus_;
  bool among_processes_ = false;  // or after them, in the current GPU
  std::string attached_;
};

}  // namespace

std::vector<Fault> FindInGpu(const GpuDescription& gpu, uint32_t number) {
  std::vector<Fault> faults;
  GpuChecker(gpu, number, faults).Check();
  return faults;
}

std::vector<Fault> FindInGpus(const std::vector<GpuDescription>& gpus) {
  std::vector<Fault> faults;
  for (uint32_t number = 0; number < gpus.size(); ++number) {
    std::ranges::move(FindInGpu(gpus[number], number), std::back_inserter(faults));
  }
  CheckEqual(gpus, "vbios_version", "VBIOS versions", faults);
  CheckEqual(gpus, "power_readings/power_limit", "power limits", faults);
  CheckEqual(gpus, "gpu_power_readings/current_power_limit", "power limits", faults);
  return faults;
}

std::optional<PciPlace> PlaceOf(const Fault& fault) {
  std::string_view subject = fault.subject;
  const bool of_device =
      base::TakePrefix(subject, kGpu) || base::TakePrefix(subject, "PCI device ");
  return of_device ? ParsePciPlace(subject) : std::nullopt;
}

void RelateToGpus(const std::vector<PciPlace>& places, const std::vector<GpuDescription>& gpus,
                  std::vector<Fault>& faults) {
  for (Fault& fault : faults) {
    const auto place = PlaceOf(fault);
    const auto found = place ? std::ranges::find(places, *place) : places.end();
    if (found == places.end()) continue;
    fault.gpu = static_cast<uint32_t>(found - places.begin());
    fault.subject = std::string(kGpu) + std::to_string(*fault.gpu);
    const auto gpu = std::ranges::find(
        gpus, place, [](const GpuDescription& one) { return ParsePciPlace(one.bus_id); });
    if (gpu != gpus.end() && Works(*gpu)) fault.severity = Severity::kWarning;
  }
}

std::vector<Fault> FindInFailure(std::string_view printed) {
  const auto has = [&](std::string_view text) {
    return printed.find(text) != std::string_view::npos;
  };
  const auto fatal = [](const std::string& subject, const char* what, const char* remedy) {
    return std::vector<Fault>{{Severity::kFatal, subject, what, kNvidiaSmi, remedy, {}, 1}};
  };
  constexpr char kRestart[] = "restart the node; if it happens again, have the GPU replaced";
  if (has("GPU is lost")) return fatal(GpuWithoutHandle(printed), "is lost", kRestart);
  if (has(kNoHandle)) return fatal(GpuWithoutHandle(printed), "does not answer", kRestart);
  if (has("Driver/library version mismatch")) {
    return fatal("the driver", "is not of the same version as its libraries",
                 "restart the node, or load the driver again");
  }
  if (has("NVML: Unknown Error")) {
    return fatal("the driver", "cannot be reached",
                 "in a container, start it again: systemd may have taken its devices away; "
                 "otherwise restart the node");
  }
  if (has("couldn't communicate with the NVIDIA driver")) {
    return fatal("the driver", "is not loaded",
                 "load the driver, or see the kernel log for why it was not loaded");
  }
  if (has("No devices were found")) return fatal("the driver", "finds no GPU", kRestart);
  return {};
}

Result<std::vector<GpuDescription>> ParseGpus(std::string_view xml) {
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate(nullptr),
                                                                       XML_ParserFree);
  Reader reader(parser.get());
  const auto status = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
  if (status != XML_STATUS_OK) {
    return Error(StatusCode::kInvalidArgument,
                 std::string("nvidia-smi -q -x: ") +
                     XML_ErrorString(XML_GetErrorCode(parser.get())) + " in line " +
                     std::to_string(XML_GetCurrentLineNumber(parser.get())));
  }
  if (!reader.Complete()) {
    return Error(StatusCode::kInvalidArgument, "nvidia-smi -q -x does not describe all GPUs");
  }
  return reader.Take();
}

}  // namespace autodist::health
