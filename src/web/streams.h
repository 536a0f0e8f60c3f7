// Streams of server-sent events, which continue until the reader disconnects.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "http/message.h"
#include "web/job_subscription.h"
#include "web/log_file.h"

namespace autodist::web {

// The reader of a stream.
struct Viewer {
  std::stop_token stop;
  std::function<bool()> gone;
  std::shared_ptr<const void> slot;  // released when the stream ends
};

// Sends the job's snapshots, and an event "end" when the job has ended.
http::Answer SnapshotStream(std::shared_ptr<JobSubscription> watch, Viewer viewer);

// Sends text that is added to a log file from this byte on; of a flood only the last part.
http::Answer TailStream(std::shared_ptr<const LogFile> file, uint64_t from, Viewer viewer);

}  // namespace autodist::web
