#include "control/snapshot_client.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/private_folder.h"
#include "control/job_record.h"
#include "control/jobs.h"
#include "json/proto_json.h"
#include "snapshot/derived.h"

namespace autodist::control {
namespace {

constexpr size_t kLargestFile = 64 << 20;  // bytes

// Reads a file of an ended job's folder, which is trusted because it belongs to this user.
template <typename Message>
Result<Message> ReadKept(const Result<v1::JobStatus>& job, const char* name) {
  AD_RETURN_IF_ERROR(job.status());
  const std::string file = std::filesystem::path(job->log_folder()) / name;
  const auto text = base::ReadOwnFile(file, kLargestFile);
  if (!text.ok()) {
    const std::string where = job->elsewhere() ? " on this machine, but on " + job->host() : "";
    return Error(StatusCode::kNotFound, "the job has no saved state" + where + ": no " + file);
  }
  Message message;
  const Status parsed = json::FromJson(*text, message, json::Unknown::kIgnored);
  if (!parsed.ok()) {
    return Error(StatusCode::kNotFound, file + " cannot be read: " + autodist::Message(parsed));
  }
  return message;
}

}  // namespace

Result<v1::JobStatus> SnapshotClient::Record() const {
  return log_folder_.empty() ? ReadRecord(job_id_) : ReadRecordIn(log_folder_);
}

Result<std::shared_ptr<JobClient>> SnapshotClient::Client() {
  const std::lock_guard lock(mutex_);
  if (!client_) {
    AD_ASSIGN_OR_RETURN(JobClient client, JobClient::Connect(job_id_));
    client_ = std::make_shared<JobClient>(std::move(client));
  }
  return client_;
}

Result<std::shared_ptr<const v1::JobSnapshot>> SnapshotClient::Snapshot(
    const std::stop_token& stop) {
  const auto client = Client();
  if (client.ok()) {
    uint64_t known = 0;
    {
      const std::lock_guard lock(mutex_);
      if (snapshot_) known = snapshot_->version();
    }
    auto answer = (*client)->GetSnapshot(known, stop);
    const std::lock_guard lock(mutex_);
    if (answer.ok()) {
      if (*answer) snapshot_ = std::make_shared<const v1::JobSnapshot>(**std::move(answer));
      return snapshot_;
    }
    client_.reset();
    if (answer.status().code() == StatusCode::kDeadlineExceeded) return answer.status();
  } else if (client.status().code() == StatusCode::kDeadlineExceeded) {
    return client.status();  // the saved data is older
  }
  AD_ASSIGN_OR_RETURN(v1::JobSnapshot kept, ReadKept<v1::JobSnapshot>(Record(), kSnapshotFile));
  // The folder may have been moved.
  if (kept.job().phase() != v1::JOB_PHASE_ENDED || !log_folder_.empty()) {
    auto job = log_folder_.empty() ? LookUpJob(job_id_) : LookUpJobIn(log_folder_);
    if (job.ok()) *kept.mutable_job() = *std::move(job);
  }
  snapshot::Derive(kept);
  return std::make_shared<const v1::JobSnapshot>(std::move(kept));
}

Result<v1::History> SnapshotClient::History(int64_t since_ms, const std::stop_token& stop) {
  if (const auto client = Client(); client.ok()) {
    auto answer = (*client)->GetHistory(since_ms, stop);
    if (answer.ok()) return answer;
  }
  AD_ASSIGN_OR_RETURN(v1::History kept, ReadKept<v1::History>(Record(), kHistoryFile));
  auto& points = *kept.mutable_points();
  points.erase(points.begin(), std::ranges::find_if(points, [&](const v1::HistoryPoint& point) {
                 return point.time_ms() > since_ms;
               }));
  return kept;
}

}  // namespace autodist::control
