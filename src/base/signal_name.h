// The name of a signal, such as SIGTERM.
#pragma once

#include <string.h>

#include <string>

namespace autodist::base {

// Returns "SIGTERM", or "signal 35" for a signal without a name.
inline std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace autodist::base
