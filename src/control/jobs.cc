#include "control/jobs.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/host_name.h"
#include "base/parallel.h"
#include "control/job_client.h"
#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/prune.h"

namespace autodist::control {
namespace {

constexpr size_t kAskedAtOnce = 32;
constexpr size_t kMaxListed = 10;
constexpr int kMaxAttempts = 5;
constexpr size_t kMaxNameLength = 64;
constexpr std::string_view kLast = "last";

struct Found {
  v1::JobStatus status;
  bool listening = false;
};

// Asks the socket before reading the record, which has the end of a job that ends meanwhile.
Result<Found> LookUp(const std::string& job_id) {
  bool connected = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const auto client = JobClient::Connect(job_id);
    // An autodist that is too busy to accept still exists.
    connected = client.ok() || client.status().code() == StatusCode::kUnavailable;
    if (!client.ok()) break;
    auto status = client->GetStatus();
    if (status.ok()) return Found{std::move(*status), true};
    // An exiting autodist may accept and not answer; it is gone at the next attempt.
    if (status.status().code() != StatusCode::kUnavailable) break;
  }
  AD_ASSIGN_OR_RETURN(v1::JobStatus status, ReadRecord(job_id));
  // A home folder may be shared by several machines, and the job may run on another one.
  const bool here = status.host().empty() || status.host() == base::HostName();
  const bool listening = connected && status.phase() != v1::JOB_PHASE_ENDED;
  status.set_chief_gone(here && !listening && status.phase() != v1::JOB_PHASE_ENDED);
  return Found{std::move(status), listening};
}

// The statuses of these jobs, in order.
std::vector<v1::JobStatus> JobsThat(const std::vector<std::string>& names,
                                    const std::function<bool(const Found& job)>& are_wanted) {
  std::vector<std::optional<Found>> found(names.size());
  base::ParallelFor(names.size(), kAskedAtOnce, [&](size_t i) {
    if (auto job = LookUp(names[i]); job.ok()) found[i] = std::move(*job);
  });
  std::vector<v1::JobStatus> jobs;
  for (std::optional<Found>& job : found) {
    if (job && are_wanted(*job)) jobs.push_back(std::move(job->status));
  }
  return jobs;
}

using NameOf = std::function<std::string(const std::string& job)>;

// The newest of the jobs, one per line.
std::string Listed(const std::vector<std::string>& jobs, const NameOf& name_of) {
  std::string text;
  const size_t shown = std::min(jobs.size(), kMaxListed);
  for (size_t i = jobs.size() - shown; i < jobs.size(); ++i) {
    const std::string name = name_of(jobs[i]);
    text += "\n  " + jobs[i] + (name.empty() ? "" : " (" + name + ")");
  }
  if (shown < jobs.size()) text += "\n  and older ones";
  return text;
}

Status NoJob() {
  return WithRemedy(Error(StatusCode::kNotFound, "there is no job"), "`autodist run` starts one");
}

// "20261120-173000-3fa9c1", or the beginning of an id: day and time.
bool LooksLikeJobId(std::string_view text) {
  constexpr std::string_view kForm = "00000000-000000";
  if (text.size() < kForm.size()) return false;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (kForm[i] == '0' ? !absl::ascii_isdigit(c) : c != '-') return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> KnownJobs() {
  std::set<std::string> jobs = JobsWithSocket();
  jobs.merge(RecordedJobs());
  return {jobs.begin(), jobs.end()};
}

Result<std::string> FindJob(const std::string& word, const std::vector<std::string>& jobs,
                            const NameOf& name_of) {
  if (jobs.empty()) return NoJob();
  if (word == kLast) return jobs.back();
  if (std::ranges::count(jobs, word) > 0) return word;
  std::vector<std::string> fitting;
  if (!word.empty()) {
    const auto named = std::find_if(jobs.rbegin(), jobs.rend(),
                                    [&](const std::string& job) { return name_of(job) == word; });
    if (named != jobs.rend()) return *named;
    std::ranges::copy_if(jobs, std::back_inserter(fitting), [&](const std::string& job) {
      return job.starts_with(word) || job.ends_with(word);
    });
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty()) {
    return Error(StatusCode::kNotFound,
                 "no job is called '" + word + "'; known jobs:" + Listed(jobs, name_of));
  }
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "'" + word + "' is ambiguous:" + Listed(fitting, name_of)),
                    "give a longer part of the id");
}

Result<std::string> DefaultJob(const std::vector<v1::JobStatus>& running,
                               const std::vector<std::string>& jobs) {
  if (running.size() == 1) return running.front().job_id();
  if (running.empty()) return jobs.empty() ? Result<std::string>(NoJob()) : jobs.back();
  std::vector<std::string> ids;
  std::map<std::string, std::string> names;
  for (const v1::JobStatus& job : running) {
    ids.push_back(job.job_id());
    names[job.job_id()] = job.name();
  }
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          std::to_string(running.size()) + " jobs are running:" +
                              Listed(ids, [&](const std::string& job) { return names.at(job); })),
                    "name one of them, by its id or its name");
}

std::string NameOfJob(const std::string& job_id) {
  // Reads the record first: it is written at the job's start, and a suspended autodist answers
  // late.
  const auto recorded = ReadRecord(job_id);
  const auto job = recorded.ok() ? recorded : LookUpJob(job_id);
  return job.ok() ? job->name() : "";
}

Status CheckJobName(std::string_view name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > kMaxNameLength || !std::ranges::all_of(name, allowed)) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + std::string(name) + "' is not a name of 1 to " +
                     std::to_string(kMaxNameLength) + " letters, digits, '.', '_' and '-'");
  }
  if (name == kLast || LooksLikeJobId(name)) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + std::string(name) + "' already means " +
                     (name == kLast ? "the newest job" : "a job by its id"));
  }
  return OkStatus();
}

Result<v1::JobStatus> LookUpJob(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(Found found, LookUp(job_id));
  return std::move(found.status);
}

std::vector<v1::JobStatus> ListJobs(bool all) {
  if (all) return JobsThat(KnownJobs(), [](const Found&) { return true; });
  const std::set<std::string> with_socket = JobsWithSocket();
  return JobsThat({with_socket.begin(), with_socket.end()},
                  [](const Found& job) { return job.listening; });
}

std::vector<v1::JobStatus> ListJobsThatMayRun(int64_t now_ms) {
  return JobsThat(KnownJobs(), [now_ms](const Found& job) {
    return job.listening || MayStillRun(job.status, now_ms);
  });
}

}  // namespace autodist::control
