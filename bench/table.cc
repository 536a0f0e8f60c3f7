#include "table.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>

#include <cinttypes>
#include <cstdio>

namespace autodist::bench {

std::string NameOf(v1::Collective collective) {
  // "COLLECTIVE_ALL_REDUCE" → "all-reduce".
  const std::string name = v1::Collective_Name(collective).substr(sizeof "COLLECTIVE_" - 1);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

std::string TableHead(v1::Collective collective) {
  char line[160];
  std::snprintf(line, sizeof line, "%-14s %12s %12s %12s %13s %13s %7s\n",
                NameOf(collective).c_str(), "bytes", "count", "time (us)", "algbw (GB/s)",
                "busbw (GB/s)", "wrong");
  return line;
}

std::string TableRow(const Row& row) {
  char line[160];
  std::snprintf(line, sizeof line,
                "%-14s %12" PRIu64 " %12" PRIu64 " %12.1f %13.3f %13.3f %7" PRIu64 "\n", "",
                row.size.bytes, row.size.count, row.seconds * 1e6, row.bandwidth.algorithm,
                row.bandwidth.bus, row.wrong);
  return line;
}

std::string CsvRow(const Row& row) {
  char line[200];
  std::snprintf(line, sizeof line, "%s,%" PRIu64 ",%" PRIu64 ",%.3f,%.6f,%.6f,%" PRIu64 "\n",
                NameOf(row.collective).c_str(), row.size.bytes, row.size.count, row.seconds * 1e6,
                row.bandwidth.algorithm, row.bandwidth.bus, row.wrong);
  return line;
}

}  // namespace autodist::bench
