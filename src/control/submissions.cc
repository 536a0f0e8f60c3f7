#include "control/submissions.h"

#include <absl/strings/ascii.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/private_folder.h"
#include "base/write_file.h"
#include "control/jobs.h"
#include "control/state_folder.h"
#include "json/proto_json.h"

namespace autodist::control {
namespace {

constexpr size_t kMaxSubmissions = 100;
constexpr size_t kLargestSubmission = 1 << 20;  // bytes
constexpr char kNoteSuffix[] = ".json";

Result<std::string> SubmissionFolder() {
  AD_ASSIGN_OR_RETURN(const std::string folder, StateFolder());
  return folder + "/submitted";
}

bool IsSlurmNumber(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
}

// Part of a file's name. "": unknown.
bool IsSlurmCluster(const std::string& text) {
  return std::ranges::all_of(
      text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

// "7.json", or "7.lab.json" in the cluster lab.
std::string FileName(const v1::JobNote& submission) {
  const std::string& cluster = submission.slurm_cluster();
  return submission.slurm_job() + (cluster.empty() ? "" : "." + cluster) + kNoteSuffix;
}

std::string FileOf(const std::string& folder, const v1::JobNote& submission) {
  return folder + "/" + FileName(submission);
}

bool AreSame(const v1::JobNote& submission, const v1::JobNote& job) {
  const bool is_cluster_known = !submission.slurm_cluster().empty() && !job.slurm_cluster().empty();
  return submission.slurm_job() == job.slurm_job() &&
         (!is_cluster_known || submission.slurm_cluster() == job.slurm_cluster());
}

// Oldest first.
std::vector<v1::JobNote> ReadSubmissions(const std::string& folder) {
  std::vector<v1::JobNote> submissions;
  for (const std::string& name : base::EntriesOf(folder)) {
    const auto text = base::ReadOwnFile(folder + "/" + name, kLargestSubmission);
    v1::JobNote note;
    const bool is_note = text.ok() && json::FromJson(*text, note, json::Unknown::kIgnored).ok();
    if (is_note && IsSlurmNumber(note.slurm_job()) && name == FileName(note)) {
      submissions.push_back(std::move(note));
    }
  }
  std::ranges::stable_sort(submissions, {},
                           [](const v1::JobNote& note) { return note.job().started_ms(); });
  return submissions;
}

}  // namespace

Status RecordSubmission(const v1::JobNote& note) {
  if (!IsSlurmNumber(note.slurm_job())) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + note.slurm_job() + "' is not the number of a Slurm job");
  }
  if (!IsSlurmCluster(note.slurm_cluster())) {
    return Error(StatusCode::kInvalidArgument,
                 "'" + note.slurm_cluster() + "' is not the name of a Slurm cluster");
  }
  AD_ASSIGN_OR_RETURN(const std::string folder, SubmissionFolder());
  AD_RETURN_IF_ERROR(MakeStateFolder(folder));
  AD_RETURN_IF_ERROR(base::WriteFile(FileOf(folder, note), json::JsonText(note) + "\n",
                                     base::IfExists::kReplace, base::Readers::kOwner));
  const std::vector<v1::JobNote> all = ReadSubmissions(folder);
  for (size_t i = 0; i + kMaxSubmissions < all.size(); ++i) {
    unlink(FileOf(folder, all[i]).c_str());
  }
  return OkStatus();
}

std::vector<v1::JobNote> SubmissionsWithout(const std::vector<v1::JobNote>& jobs) {
  const auto folder = SubmissionFolder();
  if (!folder.ok()) return {};
  std::vector<v1::JobNote> submissions = ReadSubmissions(*folder);
  std::erase_if(submissions, [&](const v1::JobNote& submission) {
    return std::ranges::any_of(jobs,
                               [&](const v1::JobNote& job) { return AreSame(submission, job); });
  });
  return submissions;
}

void ForgetSubmission(const v1::JobNote& submission) {
  const auto folder = SubmissionFolder();
  if (folder.ok()) unlink(FileOf(*folder, submission).c_str());
}

std::optional<v1::JobNote> PendingJobOf(const std::string& folder,
                                        const std::vector<v1::JobNote>& submissions,
                                        const std::vector<v1::JobNote>& jobs,
                                        const StateOfSubmission& state_of) {
  const auto is_here = [&](const v1::JobNote& job) { return IsOfFolder(job.job(), folder); };
  if (std::ranges::none_of(submissions, is_here)) return std::nullopt;
  int64_t last_start_ms = 0;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
    const int64_t start_ms = job->job().started_ms();
    if (start_ms > last_start_ms && is_here(*job)) last_start_ms = start_ms;
  }
  for (auto submission = submissions.rbegin(); submission != submissions.rend(); ++submission) {
    if (submission->job().started_ms() < last_start_ms) break;
    if (!is_here(*submission)) continue;
    const slurm::SubmissionState state = state_of(*submission);
    if (state == slurm::SubmissionState::kPending) return *submission;
    if (state != slurm::SubmissionState::kEnded) break;
  }
  return std::nullopt;
}

}  // namespace autodist::control
