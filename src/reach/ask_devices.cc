#include "reach/ask_devices.h"

#include <charconv>

#include "reach/login_script.h"
#include "scripts/scripts.h"

namespace autodist::reach {
namespace {

constexpr size_t kMaxMachine = 300;  // bytes
constexpr std::string_view kMarker = "\nAUTODIST-DEVICES ";

}  // namespace

Result<Devices> ReadDevices(std::string_view output) {
  const Status incomplete = Error(StatusCode::kNotFound, "no answer");
  const size_t marker = output.rfind(kMarker);
  if (marker == std::string_view::npos) return incomplete;
  std::string_view line = output.substr(marker + kMarker.size());
  const size_t end = line.find('\n');
  if (end == std::string_view::npos) return incomplete;
  line = line.substr(0, end);

  if (line.starts_with("hangs ")) {
    return WithRemedy(
        Error(StatusCode::kUnavailable, "nvidia-smi -L there did not answer within 5 s"),
        "run it on the node; if it hangs, the driver or a GPU hangs");
  }
  Devices devices;
  const char* const stop = line.data() + line.size();
  const auto gpus = std::from_chars(line.data(), stop, devices.gpus);
  const bool space = gpus.ec == std::errc() && gpus.ptr != stop && *gpus.ptr == ' ';
  const auto cpus = std::from_chars(space ? gpus.ptr + 1 : stop, stop, devices.cpus);
  if (cpus.ec == std::errc() && cpus.ptr == stop) return devices;
  if (cpus.ec == std::errc() && *cpus.ptr == ' ') {
    const std::string_view machine(cpus.ptr + 1, static_cast<size_t>(stop - cpus.ptr - 1));
    // With a missing part it would not be unique.
    const size_t slash = machine.find('/');
    const bool whole = slash != std::string_view::npos && slash > 0 && slash + 1 < machine.size();
    if (whole && machine.size() <= kMaxMachine) devices.machine = machine;
    return devices;
  }
  return Error(StatusCode::kInternal, "the answer is invalid");
}

Result<Devices> AskDevices(transport::Transport& transport, LoginRetryBudget& servers,
                           std::chrono::milliseconds limit) {
  return RunLoginScript<Devices>(transport, {"/bin/sh", "-c", scripts::Script({"devices"})},
                                 ReadDevices, limit, servers);
}

}  // namespace autodist::reach
