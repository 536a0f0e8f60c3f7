#include "table.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>

#include <cerrno>
#include <cinttypes>
#include <utility>

namespace autodist::bench {
namespace {

// "all-reduce".
std::string NameOf(v1::Collective collective) {
  // "COLLECTIVE_ALL_REDUCE" → "all-reduce".
  const std::string name = v1::Collective_Name(collective).substr(sizeof "COLLECTIVE_" - 1);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

// Above the rows of an operation.
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

constexpr char kCsvHead[] = "collective,bytes,count,time_us,algbw_GBps,busbw_GBps,wrong\n";

std::string CsvRow(const Row& row) {
  char line[200];
  std::snprintf(line, sizeof line, "%s,%" PRIu64 ",%" PRIu64 ",%.3f,%.6f,%.6f,%" PRIu64 "\n",
                NameOf(row.collective).c_str(), row.size.bytes, row.size.count, row.seconds * 1e6,
                row.bandwidth.algorithm, row.bandwidth.bus, row.wrong);
  return line;
}

}  // namespace

Printer::Printer(bool wanted, const std::string& csv_file) : wanted_(wanted) {
  if (!wanted || csv_file.empty()) return;
  csv_.reset(std::fopen(csv_file.c_str(), "w"));
  if (csv_) {
    Print(kCsvHead, csv_.get());
  } else {
    status_ = ErrnoError(errno, csv_file);
  }
}

void Printer::Print(const std::string& text, std::FILE* file) {
  if (std::fputs(text.c_str(), file) < 0 || std::fflush(file) != 0) {
    status_ = ErrnoError(errno, "writing the results");
  }
}

void Printer::Begin(v1::Collective collective) {
  if (wanted_) Print((std::exchange(begun_, true) ? "\n" : "") + TableHead(collective), stdout);
}

void Printer::Add(const Row& row) {
  if (wanted_) Print(TableRow(row), stdout);
  if (csv_) Print(CsvRow(row), csv_.get());
}

void Printer::TooLarge(Size size, uint64_t free) const {
  if (!wanted_) return;
  std::fprintf(stderr,
               "%" PRIu64 " bytes and more are left out: there are %" PRIu64
               " bytes of memory for a rank\n",
               size.bytes, free);
}

}  // namespace autodist::bench
