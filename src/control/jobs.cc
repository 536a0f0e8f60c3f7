#include "control/jobs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/host_name.h"
#include "base/parallel.h"
#include "control/job_client.h"
#include "control/job_record.h"
#include "control/job_socket.h"

namespace autodist::control {
namespace {

constexpr size_t kAskedAtOnce = 32;
constexpr size_t kMostListed = 10;
constexpr int kMostAttempts = 5;

struct Found {
  v1::JobStatus status;
  bool listening = false;
};

// The socket first: a job that ends meanwhile has its end in the record.
Result<Found> LookUp(const std::string& job_id) {
  bool connected = false;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto client = JobClient::Connect(job_id);
    connected = client.ok();
    if (!connected) break;
    auto status = client->GetStatus();
    if (status.ok()) return Found{std::move(*status), true};
    // An autodist that ends may take a connection and not answer; it is not there the next time.
    if (status.status().code() != StatusCode::kUnavailable) break;
  }
  AD_ASSIGN_OR_RETURN(v1::JobStatus status, ReadRecord(job_id));
  // A home folder may be several machines', and the job on another of them.
  const bool here = status.host().empty() || status.host() == base::HostName();
  const bool listening = connected && status.phase() != v1::JOB_PHASE_ENDED;
  status.set_chief_gone(here && !listening && status.phase() != v1::JOB_PHASE_ENDED);
  return Found{std::move(status), listening};
}

// The newest of them, one below the other.
std::string Listed(const std::vector<std::string>& jobs) {
  std::string text;
  const size_t shown = std::min(jobs.size(), kMostListed);
  for (size_t i = jobs.size() - shown; i < jobs.size(); ++i) text += "\n  " + jobs[i];
  if (shown < jobs.size()) text += "\n  and older ones";
  return text;
}

}  // namespace

std::vector<std::string> KnownJobs() {
  std::set<std::string> jobs = JobsWithSocket();
  jobs.merge(RecordedJobs());
  return {jobs.begin(), jobs.end()};
}

Result<std::string> FindJob(const std::string& name, const std::vector<std::string>& jobs) {
  if (jobs.empty()) {
    return WithRemedy(Error(StatusCode::kNotFound, "there is no job"), "`autodist run` starts one");
  }
  if (name == "last") return jobs.back();
  std::vector<std::string> fitting;
  for (const std::string& job : jobs) {
    if (job == name) return job;
    if (!name.empty() && (job.starts_with(name) || job.ends_with(name))) fitting.push_back(job);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    return Error(StatusCode::kNotFound,
                 "no job is called '" + name + "'; there are:" + Listed(jobs));
  }
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "'" + name + "' may be any of these jobs:" + Listed(fitting)),
                    "give more of the name");
}

Result<v1::JobStatus> LookUpJob(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(Found found, LookUp(job_id));
  return std::move(found.status);
}

std::vector<v1::JobStatus> ListJobs(bool all) {
  const std::set<std::string> with_socket = JobsWithSocket();
  const std::vector<std::string> names =
      all ? KnownJobs() : std::vector(with_socket.begin(), with_socket.end());
  std::vector<std::optional<Found>> found(names.size());
  base::ParallelFor(names.size(), kAskedAtOnce, [&](size_t i) {
    if (auto job = LookUp(names[i]); job.ok()) found[i] = std::move(*job);
  });
  std::vector<v1::JobStatus> jobs;
  for (std::optional<Found>& job : found) {
    if (job && (all || job->listening)) jobs.push_back(std::move(job->status));
  }
  return jobs;
}

}  // namespace autodist::control
