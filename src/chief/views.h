// What others may look at a job by while it runs: the page, and the metrics for Prometheus. Both
// ask its control socket, as anybody could.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "metrics/server.h"
#include "web/server.h"

namespace autodist::chief {

struct ViewOptions {
  std::string metrics;             // where Prometheus may ask, "127.0.0.1:9464"; empty: nowhere
  std::optional<std::string> web;  // where the page is; empty: the loopback address, a free port
  bool web_control = false;        // who looks at the page may stop jobs and take stacks, too
};

class Views {
 public:
  // Says where they are. Fails where one of them cannot listen.
  static Result<Views> Start(const ViewOptions& options, const std::string& job_id);

 private:
  std::unique_ptr<metrics::Server> metrics_;
  std::unique_ptr<web::Server> web_;
};

}  // namespace autodist::chief
