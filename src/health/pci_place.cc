#include "health/pci_place.h"

#include "base/parse_number.h"

namespace autodist::health {

std::optional<PciPlace> ParsePciPlace(std::string_view text) {
  constexpr int kHexadecimal = 16;
  text = text.substr(0, text.find('.'));
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

}  // namespace autodist::health
