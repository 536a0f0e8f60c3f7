// The kernel's log, /dev/kmsg, where it may be read.
#pragma once

#include <functional>
#include <string_view>

#include "base/fd.h"

namespace autodist::process {

// For one thread; never blocks.
class KernelLog {
 public:
  // What was said before does not count.
  KernelLog();

  // Whether the log is ours to read.
  bool readable() const { return log_.valid(); }
  // The first line of each record that has come since the call before.
  void Read(const std::function<void(std::string_view line)>& take);

 private:
  base::UniqueFd log_;
};

}  // namespace autodist::process
