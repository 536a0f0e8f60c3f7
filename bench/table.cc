#include "table.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <cerrno>
#include <cinttypes>
#include <utility>

namespace autodist::bench {
namespace {

// Returns "all-reduce".
std::string NameOf(v1::Collective collective) {
  // "COLLECTIVE_ALL_REDUCE" → "all-reduce".
  const std::string name = v1::Collective_Name(collective).substr(sizeof "COLLECTIVE_" - 1);
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

// Returns the head above the rows of an operation; with nccl-tests' names.
std::string TableHead(v1::Collective collective) {
  constexpr char kNames[] = "       time     algbw     busbw #wrong";
  constexpr char kUnits[] = "       (us)    (GB/s)    (GB/s)       ";
  const std::string units = absl::StrFormat("%12s %12s%s%s", "(bytes)", "(floats)", kUnits, kUnits);
  return absl::StrFormat("%-26s %25s %37s\n", NameOf(collective), "out of place", "in place") +
         absl::StrFormat("%12s %12s%s%s\n", "size", "count", kNames, kNames) +
         std::string(absl::StripTrailingAsciiWhitespace(units)) + "\n";
}

std::string Columns(const Measurement& measured) {
  return absl::StrFormat(" %10.1f %9.3f %9.3f %6d", measured.seconds * 1e6,
                         measured.bandwidth.algorithm, measured.bandwidth.bus, measured.wrong);
}

std::string TableRow(const Row& row) {
  const std::string none = absl::StrFormat(" %10s %9s %9s %6s", "-", "-", "-", "-");
  return absl::StrFormat("%12d %12d", row.size.bytes, row.size.count) + Columns(row.out_of_place) +
         (row.in_place ? Columns(*row.in_place) : none) + "\n";
}

constexpr char kCsvHead[] =
    "collective,bytes,count,time_us,algbw_GBps,busbw_GBps,wrong,"
    "in_place_time_us,in_place_algbw_GBps,in_place_busbw_GBps,in_place_wrong\n";

std::string CsvColumns(const Measurement& measured) {
  return absl::StrFormat(",%.3f,%.6f,%.6f,%d", measured.seconds * 1e6, measured.bandwidth.algorithm,
                         measured.bandwidth.bus, measured.wrong);
}

std::string CsvRow(const Row& row) {
  return absl::StrFormat("%s,%d,%d", NameOf(row.collective), row.size.bytes, row.size.count) +
         CsvColumns(row.out_of_place) + (row.in_place ? CsvColumns(*row.in_place) : ",,,,") + "\n";
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
