// The text of the result of fetching files.
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

// In order of output; the summary is the last line.
std::vector<FetchLine> FetchText(const v1::JobFiles& files);

}  // namespace autodist::chief
