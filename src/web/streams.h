// Streams of server-sent events, which go on until who reads them leaves.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "http/message.h"
#include "web/job_subscription.h"
#include "web/log_file.h"

namespace autodist::web {

// Whose a stream is, and when it ends.
struct Viewer {
  std::stop_token stop;
  std::function<bool()> gone;
  std::shared_ptr<const void> seat;  // given back with the stream
};

// The snapshots of a job. Ends with an event "end" where the job has.
http::Answer SnapshotStream(std::shared_ptr<JobSubscription> watch, Viewer viewer);

// What is added to a log file from this byte on; of a flood the last of it.
http::Answer TailStream(std::shared_ptr<const LogFile> file, uint64_t from, Viewer viewer);

}  // namespace autodist::web
