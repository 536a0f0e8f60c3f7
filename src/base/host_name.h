// The host name of this machine.
#pragma once

#include <limits.h>
#include <unistd.h>

#include <array>
#include <string>

namespace autodist::base {

// Returns "" if the system reports no name.
inline std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Whether this is the name of this machine; an empty one is.
inline bool IsThisHost(const std::string& name) { return name.empty() || name == HostName(); }

}  // namespace autodist::base
