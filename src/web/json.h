// What the page is answered, as JSON. Thread-safe. What is not UTF-8 is replaced.
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
  std::string job;  // that the page begins with; empty: none is meant
  bool control = false;
  size_t viewers = 0;
  std::vector<v1::JobStatus> jobs;               // newest first
  std::map<std::string, v1::Progress> progress;  // of those of which it is known
};
// Of each job its JobStatus, its state in words with its mark, and its `progress`.
std::string Json(const JobsPage& page);

std::string Json(const Hits& hits);

// What has been added to a log file: the bytes from `from` on, `to` those behind them.
std::string TailJson(uint64_t from, uint64_t size, std::string_view text);

std::string ErrorJson(std::string_view what);

}  // namespace autodist::web
