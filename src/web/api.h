// What the page asks for under /api/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "http/message.h"
#include "web/access.h"
#include "web/connection_limit.h"
#include "web/job_subscription.h"
#include "web/jobs_list.h"
#include "web/log_file.h"

namespace autodist::web {

inline constexpr size_t kMaxViewers = 64;

// Thread-safe.
class Api {
 public:
  // `job` as JobsPage has it; `only_job`: there are no others. Streams and searches end with
  // `stop`.
  Api(const Access& access, std::string job, bool only_job, std::stop_token stop);

  // Of one that has been let in. Blocks while it is being answered.
  http::Answer Handle(const http::Request& request);

 private:
  http::Answer OfJob(const http::Request& request, const std::string& id, const std::string& what);
  http::Answer Jobs();
  http::Answer Events(const http::Request& request, const std::shared_ptr<JobSubscription>& watch);
  http::Answer History(const http::Request& request, JobSubscription& watch);
  http::Answer Log(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer FollowLog(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer SearchLog(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer Stop(const http::Request& request);
  http::Answer Stacks(const http::Request& request);

  // `id`, if it is that of a job that may be shown.
  Result<std::string> KnownJob(const std::string& id) const;
  Result<LogFile> FileOf(const http::Request& request, JobSubscription& watch, uint32_t rank);
  // A viewer's new search ends its last one.
  std::stop_source BeginSearch(const std::string& viewer);

  const Access& access_;
  const std::string job_;
  const bool only_job_;
  const std::stop_token stop_;
  JobsList jobs_;
  Watches watches_;
  ConnectionLimit viewers_;
  ConnectionLimit followers_;
  ConnectionLimit searchers_;
  std::mutex mutex_;
  std::map<std::string, std::stop_source> searches_;  // guarded by mutex_
};

}  // namespace autodist::web
