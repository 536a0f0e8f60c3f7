// The page and the metrics that `run` serves while its job runs. Both are clients of the job's
// control socket, as another process would be.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "base/log_folder.h"
#include "metrics/server.h"
#include "web/server.h"

namespace autodist::cli {

// Not thread-safe.
class JobViews {
 public:
  // Starts the servers of --metrics and --web. Fails if one of them cannot listen.
  static Result<std::unique_ptr<JobViews>> Start(const v1::JobRequest& request,
                                                 const std::string& job_id);
  JobViews(const JobViews&) = delete;
  JobViews& operator=(const JobViews&) = delete;
  ~JobViews();

  // Prints the addresses, once. The address of the page grants access: if stderr is not a terminal,
  // and so may be a file that other users can read, writes it to a file in this folder that only
  // this user can read. Blocks on the disk.
  void Announce(const base::LogFolder& log_folder);

 private:
  JobViews() = default;
  void KeepAddress(const base::LogFolder& folder);

  std::unique_ptr<metrics::Server> metrics_;
  std::unique_ptr<web::Server> web_;
  bool announced_ = false;
  std::optional<base::LogFolder> address_kept_in_;
};

}  // namespace autodist::cli
