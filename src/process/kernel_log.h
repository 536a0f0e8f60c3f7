// Reads the kernel log, /dev/kmsg, if that is permitted.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "base/fd.h"

namespace autodist::process {

struct KernelRecord {
  std::string_view line;  // the first one of the record
  std::chrono::microseconds since_boot;
};

// Parses "6,339,5140900,-;text", followed by lines that begin with a space. nullopt: it is not of
// the kernel but of another logger, who may write texts of any user. What the kernel itself writes
// has names of programs and files in it: only the beginning of a line, beyond the 15 bytes of a
// program's name or with a strict format, shows what the line is.
std::optional<KernelRecord> ParseKernelRecord(std::string_view record);

// For one thread; never blocks.
class KernelLog {
 public:
  enum class From {
    kStart,
    kNow
  };  // kStart: includes earlier records, as far as the kernel has them
  explicit KernelLog(From from = From::kNow, const char* path = "/dev/kmsg");

  // Whether this process may read the log.
  bool readable() const { return log_.valid(); }
  // Passes on the kernel's own records since the previous call.
  void Read(const std::function<void(const KernelRecord& record)>& take);

 private:
  base::UniqueFd log_;
};

}  // namespace autodist::process
