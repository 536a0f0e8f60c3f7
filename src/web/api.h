// Handles the page's requests below /api/.
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
  // `job` is JobsPage::job; `only_job` hides all other jobs. `stop` ends streams and searches.
  Api(const Access& access, std::string job, bool only_job, std::stop_token stop);

  // Expects a request that Access has accepted. Blocks until the answer is made.
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

  // Returns `id` if it is the id of a job that may be shown.
  Result<std::string> KnownJob(const std::string& id) const;
  Result<LogFile> FileOf(const http::Request& request, JobSubscription& watch, uint32_t rank);
  // Cancels the viewer's previous search.
  std::stop_source BeginSearch(const std::string& viewer);

  const Access& access_;
  const std::string job_;
  const bool only_job_;
  const std::stop_token stop_;
  JobsList jobs_;
  Subscriptions subscriptions_;
  ConnectionLimit viewers_;
  ConnectionLimit followers_;
  ConnectionLimit searchers_;
  std::mutex mutex_;
  std::map<std::string, std::stop_source> searches_;  // guarded by mutex_
};

}  // namespace autodist::web
