// Takes the lines of a kernel log apart. All text is untrusted: names of programs and files may be
// anywhere in a line, except at a beginning that ParseKernelRecord describes.
#pragma once

#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "health/pci_place.h"

namespace autodist::health {

// Returns what follows `begin`, which may be anywhere; nullopt: the line lacks it.
inline std::optional<std::string_view> After(std::string_view line, std::string_view begin) {
  const size_t found = line.find(begin);
  if (found == std::string_view::npos) return std::nullopt;
  return line.substr(found + begin.size());
}

// Removes the PCI address at the beginning, and `end` after it; nullopt: it is missing.
inline std::optional<std::string_view> TakePciPlace(std::string_view& text, std::string_view end) {
  const size_t size = text.find(end);
  if (size == std::string_view::npos || !ParsePciPlace(text.substr(0, size))) return std::nullopt;
  const std::string_view place = text.substr(0, size);
  text.remove_prefix(size + end.size());
  return place;
}

// Returns the first 40 bytes, of these only letters, digits and `others`.
inline std::string OnlyNameOf(std::string_view text, std::string_view others = ":.-_") {
  constexpr size_t kMaxName = 40;
  std::string name;
  for (const char c : text.substr(0, kMaxName)) {
    const bool usual = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (usual || others.find(c) != std::string_view::npos) name.push_back(c);
  }
  return name;
}

}  // namespace autodist::health
