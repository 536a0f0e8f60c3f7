// Serves a job's metrics over HTTP, for Prometheus: /metrics, and /-/healthy for health checks.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/snapshot.pb.h"
#include "base/listen_address.h"
#include "control/snapshot_client.h"
#include "http/server.h"
#include "metrics/family.h"

namespace autodist::metrics {

// Serves a job's metrics to any number of scrapes. Thread-safe.
class Scrapes {
 public:
  using Clock = std::chrono::steady_clock;
  // May block for as long as a scrape may.
  using ReadSnapshot = std::function<Result<std::shared_ptr<const v1::JobSnapshot>>()>;

  explicit Scrapes(ReadSnapshot read_snapshot) : read_snapshot_(std::move(read_snapshot)) {}

  // Reads the snapshot at most once a second, on one thread at a time; other threads wait for it. A
  // failure is returned to all of them for as long.
  Result<std::string> Scrape(Format format, Clock::time_point now = Clock::now());

 private:
  void Read(Clock::time_point now);

  const ReadSnapshot read_snapshot_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Clock::time_point> read_at_;
  Result<std::vector<Family>> families_;
};

struct Options {
  std::string address;  // "127.0.0.1:9464"; port 0: any free port
  std::string job_id;
};

// Reads from the job's control socket, so that scrapes do not use the job's thread.
class Server {
 public:
  // Beyond this number, drops the connection that has been silent longest.
  static constexpr size_t kMaxConnections = 16;

  // Accepts connections when it returns. Fails if the address is invalid or in use.
  static Result<std::unique_ptr<Server>> Start(const Options& options);
  // Closes the connections. Blocks until the control socket has answered: for less than a second if
  // the job's autodist answers, or has ended.
  ~Server() = default;

  // "http://127.0.0.1:9464/metrics", with the actual port.
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
