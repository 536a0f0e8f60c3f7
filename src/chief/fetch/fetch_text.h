// What came of fetching files, in words.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "base/log.h"

namespace autodist::chief {

struct FetchLine {
  base::LogLevel level;
  std::string text;
};

// In the order in which they are told; the one line that sums up comes last.
std::vector<FetchLine> FetchText(const v1::JobFiles& files);

}  // namespace autodist::chief
