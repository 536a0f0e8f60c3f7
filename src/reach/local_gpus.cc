#include "reach/local_gpus.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include "base/log.h"
#include "base/quantity.h"
#include "base/split.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "health/accelerator.h"
#include "health/nvidia_smi.h"
#include "health/small_files.h"
#include "process/spawn.h"
#include "reach/device_ips.h"
#include "spec/host_list.h"
#include "spec/scalars.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Whether the value means no GPU, as users, schedulers and container runtimes write it.
bool SaysNone(std::string_view value) {
  const std::string lower = absl::AsciiStrToLower({value.data(), value.size()});
  return lower.empty() || lower == "-1" || lower == "none" || lower == "void" ||
         lower == "nodevfiles";
}

Status Wrong(std::string_view value, const std::string& why, const std::string& remedy) {
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "CUDA_VISIBLE_DEVICES is '" + base::Printable(std::string(value)) + "': " + why),
      remedy);
}

std::string Quote(std::string_view entry) {
  return "'" + base::Printable(std::string(entry)) + "'";
}

// Returns the error for an entry that is neither a number nor a UUID.
Status WrongEntry(std::string_view value, std::string_view entry) {
  constexpr char kList[] = "write numbers or UUIDs (nvidia-smi -L) with commas between: 0,1,2";
  if (entry == "all") {
    return Wrong(value, "CUDA reads it as no GPU", "unset it for all GPUs");
  }
  const size_t dash = entry.find('-');
  const auto first = spec::ReadWholeNumber(entry.substr(0, dash), spec::kMaxSlots);
  const auto last = dash == std::string_view::npos
                        ? std::nullopt
                        : spec::ReadWholeNumber(entry.substr(dash + 1), spec::kMaxSlots);
  if (first && last) return Wrong(value, "CUDA reads no ranges such as " + Quote(entry), kList);
  return Wrong(value, Quote(entry) + " is neither the number nor the UUID of a GPU", kList);
}

constexpr std::chrono::seconds kSilentWait{3};
constexpr char kVisible[] = "CUDA_VISIBLE_DEVICES";
// Variables of other makers' programs, schedulers and container runtimes.
constexpr const char* kOtherVariables[] = {
    "NVIDIA_VISIBLE_DEVICES",  "HIP_VISIBLE_DEVICES",    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",      "ASCEND_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES",
    "HABANA_VISIBLE_DEVICES",  "HABANA_VISIBLE_MODULES", "ZE_AFFINITY_MASK",
    "NEURON_RT_VISIBLE_CORES", "SLURM_JOB_GPUS",         "SLURM_STEP_GPUS",
};

std::string Is(const std::string& name, const std::string& value) {
  return name + " is '" + base::Printable(value) + "'";
}

// Returns the first variable that selects devices: "HIP_VISIBLE_DEVICES is '0,1'"; "" without one.
std::string OtherThatNamesDevices(const VariableOf& variable) {
  for (const char* name : kOtherVariables) {
    const auto value = variable(name);
    if (!value) continue;
    const auto read = ReadVisibleGpus(*value, std::nullopt);
    if (!read.ok() || !read->gpus.empty()) return Is(name, *value);
  }
  return "";
}

std::string NoneFound(const VariableOf& variable, const GpuCount& present) {
  const std::string other = OtherThatNamesDevices(variable);
  const bool others = present.uncounted == Uncounted::kOtherMaker;
  const std::string none = others ? "no NVIDIA GPU found" : "no GPU found";
  return other.empty() ? none : none + ", though " + other;
}

GpuCount ThisMachinesGpus(std::chrono::milliseconds limit) {
  // A process would delay the start of each local job.
  const size_t listed = health::NamesIn("/proc/driver/nvidia/gpus").size();
  if (listed > 0) return {static_cast<uint32_t>(listed)};
  const char* const path = std::getenv("PATH");
  const std::string folders = std::string(path ? path : "") + ":" + health::kUsualFolders;
  if (!health::MayHaveAccelerator() && !process::FindProgram("nvidia-smi", folders, ".").ok()) {
    return {};
  }
  auto asking = base::Async([limit] {
    transport::LocalTransport here;
    LoginRetryBudget servers;
    return AskDevices(here, servers, limit);
  });
  if (asking.wait_for(kSilentWait) == std::future_status::timeout) {
    base::Log(base::LogLevel::kInfo, "waiting for nvidia-smi -L to list the GPUs, for " +
                                         base::Seconds(ListingLimit(limit)) + " at most");
  }
  const auto devices = asking.get();
  if (!devices.ok()) {
    // A driver that hangs can keep nvidia-smi from ending, also by SIGKILL.
    const bool hangs = devices.status().code() == StatusCode::kAborted;
    if (hangs) return CountGpus({.status = GpuSigns::kTimedOut}, ListingLimit(limit));
    return {0, "", Uncounted::kFails, devices.status()};
  }
  if (devices->counted.gpus > 0 && !devices->counted.message.empty()) {
    base::Log(base::LogLevel::kWarning, "nvidia-smi says: " + devices->counted.message);
  }
  return devices->counted;
}

}  // namespace

Result<VisibleGpus> ReadVisibleGpus(std::string_view value, std::optional<uint32_t> present) {
  VisibleGpus visible;
  if (SaysNone(WithoutBlanks(value))) return visible;
  std::set<std::string_view> seen;
  bool any_uuid = false;
  for (const std::string_view part : base::Split(value, ',')) {
    const std::string_view entry = WithoutBlanks(part);
    if (entry == "-1") {  // CUDA intentionally stops there
      if (part.data() + part.size() != value.data() + value.size()) {
        visible.warning = "CUDA_VISIBLE_DEVICES is '" + base::Printable(std::string(value)) +
                          "': devices after the -1 are not used";
      }
      break;
    }
    const bool last = part.data() + part.size() == value.data() + value.size();
    if (entry.empty() && last && !visible.gpus.empty()) break;  // "0,1,"
    const bool uuid = spec::IsGpuUuid(entry);
    const auto number = uuid ? std::optional(static_cast<uint32_t>(visible.gpus.size()))
                             : spec::ReadWholeNumber(entry, spec::kMaxSlots - 1);
    if (!number) return WrongEntry(value, entry);
    if (!uuid && present && *number >= *present) {
      return Wrong(value,
                   "there is no GPU " + std::to_string(*number) + "; this machine has " +
                       base::Count(*present, "GPU") + ", numbered from 0",
                   "correct it, or unset it for all GPUs");
    }
    if (!seen.insert(entry).second) {
      return Wrong(value, Quote(entry) + " is listed twice; CUDA then shows no GPU",
                   "name each GPU once");
    }
    any_uuid |= uuid;
    visible.gpus.push_back(*number);
    visible.uuids.emplace_back(uuid ? entry : "");
  }
  if (!any_uuid) visible.uuids.clear();
  return visible;
}

Result<LocalGpus> ChooseLocalGpus(const VariableOf& variable, const GpuCount& present) {
  LocalGpus found;
  const auto value = variable(kVisible);
  // GPUs of another maker, which are not counted, are no reason to refuse a rank on the CPUs.
  const bool counted =
      present.uncounted == Uncounted::kNone || present.uncounted == Uncounted::kOtherMaker;
  if (!value) {
    found.has_driver = present.uncounted != Uncounted::kNoDriver;
    if (!counted) {
      found.uncounted = present.why;
      return found;
    }
    for (uint32_t gpu = 0; gpu < present.gpus; ++gpu) found.visible.gpus.push_back(gpu);
    if (present.gpus == 0) found.none = NoneFound(variable, present);
    return found;
  }
  const bool numbered = present.gpus > 0;
  auto visible = ReadVisibleGpus(*value, numbered ? std::optional(present.gpus) : std::nullopt);
  if (!numbered && present.uncounted == Uncounted::kNone) {
    found.asked_for = !visible.ok() || !visible->gpus.empty();
    if (found.asked_for) found.none = "no GPU found, though " + Is(kVisible, *value);
    return found;
  }
  AD_RETURN_IF_ERROR(visible.status());
  found.visible = *std::move(visible);
  found.asked_for = !found.visible.gpus.empty();
  if (!found.asked_for) found.none = Is(kVisible, *value);
  return found;
}

Result<LocalGpus> FindLocalGpus(std::chrono::milliseconds limit) {
  return ChooseLocalGpus(
      [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value ? std::optional<std::string>(value) : std::nullopt;
      },
      ThisMachinesGpus(limit));
}

}  // namespace autodist::reach
