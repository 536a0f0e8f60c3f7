// Reads the small files of /sys and /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::health {

// Returns the entries of the folder, sorted; empty if it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder);

// Returns the first line, or "" if the file cannot be read.
std::string LineOf(const std::string& path);

// Returns the number at the beginning of the first line, before a unit.
std::optional<uint64_t> NumberOf(const std::string& path);

}  // namespace autodist::health
