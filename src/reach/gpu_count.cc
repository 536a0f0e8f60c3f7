#include "reach/gpu_count.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "health/nvidia_smi.h"

namespace autodist::reach {
namespace {

constexpr size_t kMaxListingMessage = 200;  // bytes
using health::kBadInfoRom;
// Printed also on a machine without a GPU and without a driver.
constexpr const char* kOfTheToolAlone[] = {"No devices",
                                           "couldn't communicate with the NVIDIA driver",
                                           "couldn't find libnvidia-ml", "Driver Not Loaded"};

// Lines of a list are "GPU 0: A100 (UUID: ...)" and, for a MIG device, "  MIG 1g.10gb ...".
bool IsGpuLine(std::string_view line) { return line.starts_with("GPU "); }

// Returns the first line that is no part of a list, or "".
std::string MessageIn(std::string_view printed) {
  const std::vector<std::string_view> lines = base::Lines(printed);
  const auto line = std::ranges::find_if(
      lines, [](std::string_view one) { return !one.empty() && !IsGpuLine(one) && one[0] != ' '; });
  return line == lines.end() ? "" : base::Printable(base::Truncated(*line, kMaxListingMessage));
}

Status WhyNotCounted(const GpuSigns& signs, std::chrono::seconds limit) {
  const auto unknown = [](const std::string& why, const std::string& hint) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition, "nvidia-smi -L " + why), hint);
  };
  // The last two: timeout(1) had to kill it, and that of busybox.
  if (signs.status == GpuSigns::kTimedOut || signs.status == 137 || signs.status == 143) {
    return unknown("did not answer within " + base::Seconds(limit),
                   "run it on the node; if it hangs, the driver or a GPU hangs; if it is only "
                   "slow, raise --start-timeout");
  }
  const std::string message = MessageIn(signs.printed);
  const auto faults = health::FindInFailure(signs.printed);
  return unknown(
      "fails: " + (message.empty() ? "exit code " + std::to_string(signs.status) : message),
      faults.empty() ? "run it on the node, and correct what it reports" : faults.front().remedy);
}

}  // namespace

std::chrono::seconds ListingLimit(std::chrono::milliseconds limit) {
  using std::chrono::seconds;
  // The rest is for the login.
  return std::max(seconds(1), std::chrono::duration_cast<seconds>(limit * 3 / 4));
}

GpuCount CountGpus(const GpuSigns& signs, std::chrono::seconds limit) {
  if (signs.driver > 0) return {signs.driver};
  const auto says = [&](std::string_view text) {
    return signs.printed.find(text) != std::string::npos;
  };
  const auto listed =
      static_cast<uint32_t>(std::ranges::count_if(base::Lines(signs.printed), IsGpuLine));
  const bool whole = signs.status == 0 || signs.status == GpuSigns::kNotListed ||
                     (signs.status == kBadInfoRom && listed > 0);
  // Some drivers list the other GPUs and end with 0.
  const bool failed = !whole || says("Unable to determine the device handle");
  const bool none = std::ranges::any_of(kOfTheToolAlone, says);
  if (failed && (!none || signs.on_bus)) {
    return {0, "", Uncounted::kFails, WhyNotCounted(signs, limit)};
  }
  GpuCount count{listed > 0 ? listed : signs.files, MessageIn(signs.printed)};
  if (count.gpus > 0) return count;
  if (signs.status == GpuSigns::kNotListed && signs.on_bus) {
    count.uncounted = Uncounted::kNoDriver;
    count.why = WithRemedy(
        Error(StatusCode::kNotFound,
              "neither nvidia-smi nor a driver found, though the PCI bus has an NVIDIA GPU"),
        "install the driver with its tools; in a container, start it with its GPUs (--gpus all)");
  } else if (signs.others) {
    count.uncounted = Uncounted::kOtherMaker;
    count.why =
        Error(StatusCode::kUnimplemented,
              "no NVIDIA GPU found, but devices of another maker, which autodist does not count");
  }
  return count;
}

}  // namespace autodist::reach
