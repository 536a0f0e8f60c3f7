// What is to be said of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "report/document.h"

namespace autodist::report {

// What a rank wrote last.
struct LastLines {
  uint32_t rank = 0;
  std::string file;  // where all of it is
  std::string text;
};

struct JobFacts {
  v1::JobSnapshot snapshot;  // at least its job
  v1::History history;
  std::vector<LastLines> last_lines;  // of ranks that failed
};

// What is not known is left out. Pure, but for the local time zone.
Document ContentsOf(const JobFacts& facts);

}  // namespace autodist::report
