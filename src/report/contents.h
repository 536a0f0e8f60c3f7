// Builds the contents of a job's report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "report/document.h"

namespace autodist::report {

// The end of a rank's output.
struct LastLines {
  uint32_t rank = 0;
  std::string file;  // the file with the whole output
  std::string text;
};

struct JobFacts {
  v1::JobSnapshot snapshot;  // at least its job
  v1::History history;
  std::vector<LastLines> last_lines;  // of failed ranks
};

// Omits what is unknown. Pure, except for the local time zone.
Document ContentsOf(const JobFacts& facts);

}  // namespace autodist::report
