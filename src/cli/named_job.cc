#include "cli/named_job.h"

#include <algorithm>
#include <filesystem>

#include "base/exit_codes.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/typed_command.h"
#include "chief/remote_controller/start_remote.h"
#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/values.h"
#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/jobs.h"
#include "control/prune.h"
#include "control/silent_chief.h"
#include "control/submissions.h"
#include "slurm/ended_job.h"
#include "slurm/srun.h"

namespace autodist::cli {
namespace {

// The folder whose jobs are preferred; "" in that of a command from another machine (main.cc).
std::string ThisFolder() {
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error);
  return folder == "/" ? "" : folder;
}

std::string NumberOf(const v1::JobNote& submission) {
  return "Slurm job " + submission.slurm_job();
}

// `before`: the job of this folder that began before it; "": none.
Status HasNotBegun(const v1::JobNote& submission, const std::string& before = "") {
  const std::string& number = submission.slurm_job();
  const std::string& name = submission.job().name();
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, NumberOf(submission) +
                                                 (name.empty() ? "" : " (" + name + ")") +
                                                 " is pending: it has not begun"),
      "`squeue --jobs=" + number + "` shows its state, `scancel " + number + "` cancels it" +
          (before.empty() ? "" : "; to name the job before it: " + before));
}

// Fails if the word is the number of a Slurm job that was submitted and has recorded no job. Such
// a number may also be an end of the id of another job.
Status CheckHasBegun(const std::string& word, const std::vector<v1::JobNote>& submissions,
                     const std::vector<v1::JobNote>& jobs) {
  const auto submission =
      std::find_if(submissions.rbegin(), submissions.rend(),
                   [&](const v1::JobNote& note) { return note.slurm_job() == word; });
  const bool is_name =
      std::ranges::any_of(jobs, [&](const v1::JobNote& note) { return note.job().name() == word; });
  if (submission == submissions.rend() || is_name) return OkStatus();
  if (slurm::SubmissionStateOf(*submission) == slurm::SubmissionState::kPending) {
    return HasNotBegun(*submission);
  }
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          NumberOf(*submission) + " was submitted and has recorded no job"),
                    "`squeue --jobs=" + word + "` or `sacct --jobs=" + word + "` shows its state");
}

// Forgets a submission that has ended, so that Slurm is asked about it once.
slurm::SubmissionState StateOrForgotten(const v1::JobNote& submission) {
  const slurm::SubmissionState state = slurm::SubmissionStateOf(submission);
  if (state == slurm::SubmissionState::kEnded) control::ForgetSubmission(submission);
  return state;
}

// The job of a command without a name, or with the word `last`.
Result<std::string> JobOfFolder(const std::string& word, const std::string& folder,
                                const std::vector<v1::JobNote>& submissions,
                                const std::vector<v1::JobNote>& jobs, const std::string& acting) {
  const std::vector<v1::JobStatus> running =
      word.empty() ? control::ListRunningJobs() : std::vector<v1::JobStatus>();
  auto id = word.empty() ? control::DefaultJob(running, jobs, folder, acting)
                         : control::FindJob(word, jobs, folder, acting);
  const auto pending = control::PendingJobOf(folder, submissions, jobs, StateOrForgotten);
  if (!pending) return id;
  const bool of_folder = id.ok() && control::IsOfFolder(control::About(*id).job(), folder);
  const bool runs = id.ok() && std::ranges::count(running, *id, &v1::JobStatus::job_id) > 0;
  if (!acting.empty() || !of_folder || !runs) {
    return HasNotBegun(*pending, of_folder ? *id : "");
  }
  base::Log(base::LogLevel::kInfo,
            NumberOf(*pending) + " of this folder is pending; using job " + *id + ", which runs");
  return id;
}

}  // namespace

std::string QueuedJobsText() {
  return slurm::HasSrun() ? "; a batch job of Slurm is listed once it runs; until then, `squeue "
                            "--me` shows it"
                          : "";
}

void AddJob(CLI::App& app, std::string& job, const char* help) {
  app.add_option("JOB", job, help)->check(NotEmpty());
}

Result<v1::JobStatus> NamedJob(const std::string& word, const std::string& acting) {
  const bool is_path = word.find('/') != std::string::npos || word == "." || word == "..";
  if (is_path) return control::LookUpJobIn(word);
  const std::vector<std::string> ids = control::KnownJobs();
  if (std::ranges::count(ids, word) > 0) return control::LookUpJob(word);
  const std::vector<v1::JobNote> jobs = control::NotesOf(ids);
  const std::string folder = ThisFolder();
  const auto submissions = control::SubmissionsWithout(jobs);
  const bool is_named = !word.empty() && word != control::kLastJob;
  if (is_named) AD_RETURN_IF_ERROR(CheckHasBegun(word, submissions, jobs));
  const auto id = is_named ? control::FindJob(word, jobs, folder)
                           : JobOfFolder(word, folder, submissions, jobs, acting);
  if (id.status().code() == StatusCode::kNotFound) {
    return WithRemedy(id.status(), Remedy(id.status()) + QueuedJobsText());
  }
  AD_RETURN_IF_ERROR(id.status());
  AD_ASSIGN_OR_RETURN(v1::JobStatus job, control::LookUpJob(*id));
  if (!is_named && !folder.empty() && !control::IsOfFolder(job, folder)) {
    base::Log(base::LogLevel::kInfo, "no job of this folder; using " + control::Described(job));
  }
  return job;
}

Status IsElsewhere(const v1::JobStatus& job, const std::string& name,
                   const std::vector<std::string>& arguments, const std::string& effect) {
  const v1::JobNote note = control::ReadNote(job.job_id()).value_or(v1::JobNote());
  const std::string host = note.chief_on().empty() ? job.host() : note.chief_on();
  std::vector<std::string> words = {job.job_id()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " is on " + host),
      "`autodist " + name + " " + chief::ChiefOnOptions(note.spec(), host) + " " +
          base::ShellLine(words) + "` " + effect);
}

Status CheckIsOver(const v1::JobStatus& job) {
  if (control::IsOver(job)) return OkStatus();
  if (job.chief_silent()) return WhyUnreachable(job);
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, "job " + job.job_id() + " has not ended"),
      base::TypedCommand("stop " + job.job_id()) + " ends it");
}

bool IsUnreachable(const v1::JobStatus& job) {
  return job.chief_gone() || job.elsewhere() || job.chief_silent();
}

Status WhyUnreachable(const v1::JobStatus& job) {
  if (job.chief_gone()) return Error(StatusCode::kUnavailable, CrashedText(job));
  const std::string name = "job " + job.job_id();
  if (job.elsewhere()) {
    return WithRemedy(
        Error(StatusCode::kUnavailable, name + " is on " + job.host() + ", not on this machine"),
        "log in to " + job.host() + " and run the command there");
  }
  const bool has_socket = control::ConnectTo(job.job_id()).status().code() != StatusCode::kNotFound;
  return Annotate(control::NoAnswer(job, has_socket), name);
}

int FailUnreachable(const v1::JobStatus& job) {
  return Fail(WhyUnreachable(job), kExitCannotLaunch);
}

Status CheckRanks(const std::vector<uint32_t>& ranks, const v1::JobStatus& job) {
  for (const uint32_t rank : ranks) {
    if (job.processes() == 0 || rank < job.processes()) continue;
    return Error(StatusCode::kInvalidArgument,
                 "job " + job.job_id() + " has no rank " + std::to_string(rank) + ", but " +
                     base::Count(job.processes(), "rank") + ", counted from 0");
  }
  return OkStatus();
}

}  // namespace autodist::cli
