// The answers to the page, as JSON. Thread-safe. Replaces bytes that are not UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "web/log_file.h"

namespace autodist::web {

struct JobsPage {
  std::string host;
  std::string job;  // the job that the page opens with; empty: none
  bool control = false;
  size_t viewers = 0;
  std::vector<v1::JobStatus> jobs;               // newest first
  std::map<std::string, v1::Progress> progress;  // of the jobs whose progress is known
};
// Contains a v1::ListedJob for each job.
std::string Json(const JobsPage& page);

std::string Json(const Hits& hits);

// Text that was added to a log file: `from` is its first byte, `to` the byte after its last.
std::string TailJson(uint64_t from, uint64_t size, std::string_view text);

std::string ErrorJson(std::string_view what);

}  // namespace autodist::web
