// The results as a user reads them, and as a program does.
#pragma once

#include <string>

#include "sweep.h"

namespace autodist::bench {

// "all-reduce".
std::string NameOf(v1::Collective collective);

// Above the rows of an operation.
std::string TableHead(v1::Collective collective);
std::string TableRow(const Row& row);

inline constexpr char kCsvHead[] = "collective,bytes,count,time_us,algbw_GBps,busbw_GBps,wrong\n";
std::string CsvRow(const Row& row);

}  // namespace autodist::bench
