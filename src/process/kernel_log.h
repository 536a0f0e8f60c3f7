// Reads the kernel log, /dev/kmsg, if that is permitted.
#pragma once

#include <functional>
#include <string_view>

#include "base/fd.h"

namespace autodist::process {

// For one thread; never blocks.
class KernelLog {
 public:
  // Skips earlier records.
  KernelLog();

  // Whether this process may read the log.
  bool readable() const { return log_.valid(); }
  // Passes on the first line of each record since the previous call.
  void Read(const std::function<void(std::string_view line)>& take);

 private:
  base::UniqueFd log_;
};

}  // namespace autodist::process
