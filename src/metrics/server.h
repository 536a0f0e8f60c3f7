// A job's metrics over HTTP, for Prometheus: /metrics, and /-/healthy for who watches over it.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "base/listen_address.h"
#include "control/snapshot_client.h"
#include "http/server.h"
#include "metrics/scrapes.h"

namespace autodist::metrics {

struct Options {
  std::string address;  // "127.0.0.1:9464"; port 0: one that is free
  std::string job_id;
};

// Asks the autodist that runs the job, by its control socket, and not its thread.
class Server {
 public:
  // Of more connections the one whose client has been silent for longest is dropped.
  static constexpr size_t kMaxConnections = 16;

  // Accepts connections when it returns. Fails where the address is none, or somebody has it.
  static Result<std::unique_ptr<Server>> Start(const Options& options);
  // Breaks connections off. Blocks until what the control socket is asked has been answered: for
  // less than a second while the job's autodist answers, and where it has ended.
  ~Server() = default;

  // "http://127.0.0.1:9464/metrics", with the port that it has.
  std::string url() const { return "http://" + address_.ToString() + "/metrics"; }

 private:
  Server(base::ListenAddress address, const std::string& job_id);

  http::Answer Scrape(const http::Request& request);

  const base::ListenAddress address_;
  control::SnapshotClient reader_;
  Scrapes scrapes_;
  std::unique_ptr<http::Server> http_;  // last: uses the rest
};

}  // namespace autodist::metrics
