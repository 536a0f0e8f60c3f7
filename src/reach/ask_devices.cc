#include "reach/ask_devices.h"

#include <charconv>
#include <string>

#include "reach/login_script.h"

namespace autodist::reach {
namespace {

constexpr std::string_view kMarker = "\nAUTODIST-DEVICES ";

// The driver's own list is right without any tool; containers see it through nvidia-smi alone.
constexpr char kDevicesScript[] =
    "n=0; for d in /proc/driver/nvidia/gpus/*/; do if [ -d \"$d\" ]; then n=$((n + 1)); fi; done; "
    "if [ \"$n\" -eq 0 ]; then n=$(nvidia-smi -L 2>/dev/null | grep -c \"^GPU \"); fi; "
    "printf \"\\nAUTODIST-DEVICES %d %d\\n\" \"$n\" \"$(getconf _NPROCESSORS_ONLN)\"";

}  // namespace

Result<Devices> ReadDevices(std::string_view output) {
  const Status incomplete = Error(StatusCode::kNotFound, "no answer");
  const size_t marker = output.rfind(kMarker);
  if (marker == std::string_view::npos) return incomplete;
  std::string_view line = output.substr(marker + kMarker.size());
  const size_t end = line.find('\n');
  if (end == std::string_view::npos) return incomplete;
  line = line.substr(0, end);

  Devices devices;
  const char* const stop = line.data() + line.size();
  const auto gpus = std::from_chars(line.data(), stop, devices.gpus);
  const bool space = gpus.ec == std::errc() && gpus.ptr != stop && *gpus.ptr == ' ';
  const auto cpus = std::from_chars(space ? gpus.ptr + 1 : stop, stop, devices.cpus);
  if (cpus.ec == std::errc() && cpus.ptr == stop) return devices;
  return Error(StatusCode::kInternal, "the answer makes no sense");
}

Result<Devices> AskDevices(transport::Transport& transport, BusyServers& servers,
                           std::chrono::milliseconds limit) {
  return RunLoginScript<Devices>(transport, {"/bin/sh", "-c", kDevicesScript}, ReadDevices, limit,
                                 servers);
}

}  // namespace autodist::reach
