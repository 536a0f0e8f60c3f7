// Handles the page's requests below /api/.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "control/snapshot_client.h"
#include "http/message.h"
#include "web/access.h"
#include "web/job_subscription.h"
#include "web/json.h"
#include "web/log_file.h"
#include "web/streams.h"

namespace autodist::web {

// The list of this user's jobs, for any number of viewers. Thread-safe.
class JobsList {
 public:
  // `only`: the one job that is listed; empty: all.
  explicit JobsList(std::string only) : only_(std::move(only)) {}

  // Lists jobs and their progress; the caller fills in the rest. Renewed at most every two seconds.
  // Blocks until `stop`, or for a few seconds if the autodist of a job does not answer.
  JobsPage Get(const std::stop_token& stop);

 private:
  std::vector<v1::JobStatus> List() const;

  const std::string only_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<base::Deadline> fresh_;
  JobsPage page_;
  std::map<std::string, std::unique_ptr<control::SnapshotClient>> readers_;  // of the running jobs
};

inline constexpr size_t kMaxViewers = 64;
// Of a diagnosis at the same time; the job's autodist makes one for all of them.
inline constexpr size_t kMaxAskers = 16;

// How long viewers without actions receive the same diagnosis: making one stops ranks for a moment.
inline constexpr std::chrono::seconds kDiagnosisKept{60};

// Thread-safe.
class Api {
 public:
  // `job` is JobsPage::job; `only_job` hides all other jobs. `stop` ends streams and searches.
  Api(const Access& access, std::string job, bool only_job, std::stop_token stop);

  // Expects a request that Access has accepted. Blocks until the answer is made.
  http::Answer Handle(const http::Request& request);

 private:
  struct Diagnosis {
    std::string json;
    base::Deadline until;
  };

  http::Answer OfJob(const http::Request& request, const std::string& id, const std::string& what);
  http::Answer Jobs();
  http::Answer Events(const http::Request& request, const std::shared_ptr<JobSubscription>& watch);
  http::Answer History(const http::Request& request, JobSubscription& watch);
  http::Answer Log(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer FollowLog(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer SearchLog(const http::Request& request, JobSubscription& watch, uint32_t rank);
  http::Answer Why(const std::string& job);
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
  ConnectionLimit askers_;
  std::mutex mutex_;
  std::map<std::string, std::stop_source> searches_;  // guarded by mutex_
  std::map<std::string, Diagnosis> diagnoses_;        // by job; guarded by mutex_
};

}  // namespace autodist::web
