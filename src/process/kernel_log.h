// Reads the kernel log, /dev/kmsg, if that is permitted.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "base/fd.h"

namespace autodist::process {

struct KernelRecord {
  std::string_view line;  // the first one of the record
  std::chrono::microseconds since_boot;
};

// For one thread; never blocks.
class KernelLog {
 public:
  enum class From {
    kStart,
    kNow
  };  // kStart: includes earlier records, as far as the kernel has them
  explicit KernelLog(From from = From::kNow);

  // Whether this process may read the log.
  bool readable() const { return log_.valid(); }
  // Passes on the records since the previous call.
  void Read(const std::function<void(const KernelRecord& record)>& take);

 private:
  base::UniqueFd log_;
};

}  // namespace autodist::process
