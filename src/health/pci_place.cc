#include "health/pci_place.h"

#include <algorithm>

#include "base/parse_number.h"
#include "health/small_files.h"

namespace autodist::health {

std::optional<PciPlace> ParsePciPlace(std::string_view text) {
  constexpr int kHexadecimal = 16;
  constexpr std::string_view kFunctions = "01234567";
  if (const size_t dot = text.find('.'); dot != std::string_view::npos) {
    if (dot + 2 != text.size() || kFunctions.find(text.back()) == kFunctions.npos) return {};
    text = text.substr(0, dot);
  }
  const size_t last = text.rfind(':');
  if (last == std::string_view::npos) return std::nullopt;
  const size_t first = text.find(':');
  const auto domain = base::ParseNumber<uint32_t>(
      first < last ? text.substr(0, first) : std::string_view("0"), kHexadecimal);
  const auto bus = base::ParseNumber<uint8_t>(
      first < last ? text.substr(first + 1, last - first - 1) : text.substr(0, last), kHexadecimal);
  const auto device = base::ParseNumber<uint8_t>(text.substr(last + 1), kHexadecimal);
  if (!domain || !bus || !device) return std::nullopt;
  return PciPlace{*domain} << 16 | PciPlace{*bus} << 8 | *device;
}

std::vector<PciPlace> GpusOfDriver(const std::string& root) {
  std::vector<PciPlace> gpus;
  for (const std::string& address : NamesIn(root + "/proc/driver/nvidia/gpus")) {
    if (const auto place = ParsePciPlace(address)) gpus.push_back(*place);
  }
  std::ranges::sort(gpus);
  return gpus;
}

bool HasNvidiaGpu(const std::string& root) {
  const std::string devices = root + "/sys/bus/pci/devices/";
  return std::ranges::any_of(NamesIn(devices), [&](const std::string& address) {
    return LineOf(devices + address + "/vendor") == "0x10de" &&
           LineOf(devices + address + "/class").starts_with("0x03");
  });
}

}  // namespace autodist::health
