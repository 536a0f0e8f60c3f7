#include "control/jobs.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/did_you_mean.h"
#include "base/home_folder.h"
#include "base/host_name.h"
#include "base/parallel.h"
#include "base/shell_quote.h"
#include "base/text_table.h"
#include "base/typed_command.h"
#include "base/utf8.h"
#include "control/job_client.h"
#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/prune.h"
#include "control/silent_chief.h"
#include "slurm/ended_job.h"

namespace autodist::control {
namespace {

constexpr size_t kAskedAtOnce = 32;
constexpr size_t kMaxListed = 10;
constexpr size_t kMaxOffered = 5;  // for an unknown name
constexpr int kMaxAttempts = 5;
constexpr size_t kMaxNameLength = 64;
constexpr size_t kMaxCommand = 60;  // columns
constexpr std::string_view kUsualLogDir = "autodist-runs";

struct Found {
  v1::JobStatus status;
  bool runs = false;  // on this machine
};

bool MayRunElsewhere(const v1::JobStatus& job) {
  return job.elsewhere() && !job.chief_gone() && job.phase() != v1::JOB_PHASE_ENDED;
}

// What Slurm says of a chief on another machine. Asked before the record is read, which then has
// the end that the chief may have written.
v1::SlurmState SlurmStateOf(const std::string& job_id) {
  const auto note = ReadNote(job_id);
  const bool asks = note.ok() && !note->slurm_job().empty() &&
                    !base::IsThisHost(note->job().host()) &&
                    note->job().phase() != v1::JOB_PHASE_ENDED;
  return asks ? slurm::StateOf(*note) : v1::SLURM_STATE_UNSPECIFIED;
}

// Whether the job's autodist is a process of this machine, although nothing listens: its socket may
// have been removed.
bool RunsHere(const v1::JobStatus& job) { return ChiefState(job) != 0; }

// Sets what only clients know of a job whose autodist has not answered: a job in a shared home
// folder may run on another machine.
void SetPlace(bool runs, v1::SlurmState slurm_state, v1::JobStatus& status) {
  const bool unknown = !runs && status.phase() != v1::JOB_PHASE_ENDED;
  const bool slurm_has_ended =
      slurm_state == v1::SLURM_STATE_ENDED || slurm_state == v1::SLURM_STATE_NODE_DOWN;
  const bool gone = unknown && (slurm_has_ended || base::IsThisHost(status.host()));
  status.set_slurm_state(unknown ? slurm_state : v1::SLURM_STATE_UNSPECIFIED);
  status.set_chief_gone(gone);
  status.set_elsewhere(status.elsewhere() || (unknown && !gone));
}

// Asks the socket before reading the record, which has the end of a job that ends meanwhile.
Result<Found> LookUp(const std::string& job_id) {
  bool connected = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const auto client = JobClient::Connect(job_id);
    // An autodist that is too busy to accept still exists.
    connected = client.ok() || client.status().code() == StatusCode::kDeadlineExceeded;
    if (!client.ok()) break;
    auto status = client->GetStatus();
    if (status.ok()) return Found{std::move(*status), true};
    // An exiting autodist may accept and not answer; it is gone at the next attempt.
    if (status.status().code() != StatusCode::kUnavailable) break;
  }
  const auto slurm_state = connected ? v1::SLURM_STATE_UNSPECIFIED : SlurmStateOf(job_id);
  AD_ASSIGN_OR_RETURN(v1::JobStatus status, ReadRecord(job_id));
  const bool runs = connected ? status.phase() != v1::JOB_PHASE_ENDED : RunsHere(status);
  SetPlace(runs, slurm_state, status);
  status.set_chief_silent(runs);
  return Found{std::move(status), runs};
}

bool IsSameFile(const std::string& path, const std::string& other) {
  std::error_code error;
  return std::filesystem::equivalent(path, other, error);
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

// The newest of the jobs, one per line.
std::string Listed(const std::vector<v1::JobStatus>& jobs) {
  std::string text;
  const size_t shown = std::min(jobs.size(), kMaxListed);
  for (size_t i = jobs.size() - shown; i < jobs.size(); ++i) text += "\n  " + Described(jobs[i]);
  if (shown < jobs.size()) text += "\n  and older ones";
  return text;
}

// Lists a few jobs: the one with the nearest name, then the newest.
Status NoJobIsCalled(const std::string& word, const std::vector<v1::JobNote>& jobs) {
  std::map<std::string, const v1::JobNote*> known;  // by id and by name, the newest that has it
  std::vector<std::string> words;
  for (const v1::JobNote& job : jobs) {
    for (const std::string& name : {job.job().job_id(), job.job().name()}) {
      if (!name.empty()) words.push_back(name);
      known[name] = &job;
    }
  }
  std::vector<const v1::JobNote*> offered;
  const std::string nearest = base::Nearest(word, words);
  if (!nearest.empty()) offered.push_back(known[nearest]);
  for (auto job = jobs.rbegin(); job != jobs.rend() && offered.size() < kMaxOffered; ++job) {
    if (std::ranges::count(offered, &*job) == 0) offered.push_back(&*job);
  }
  std::string text;
  for (const v1::JobNote* job : offered) text += "\n  " + Described(job->job());
  return WithRemedy(
      Error(StatusCode::kNotFound, "no job is called '" + word + "'; known jobs:" + text),
      base::TypedCommand("ps --all") + " lists all jobs");
}

// Null: none.
const v1::JobStatus* LastOfFolder(const std::vector<v1::JobNote>& jobs, const std::string& folder) {
  const auto found = std::find_if(jobs.rbegin(), jobs.rend(), [&](const v1::JobNote& job) {
    return IsOfFolder(job.job(), folder);
  });
  return found == jobs.rend() ? nullptr : &found->job();
}

Status NoJob() {
  return WithRemedy(Error(StatusCode::kNotFound, "there is no job"),
                    "`autodist run` starts one; for an earlier job, give its log folder, such as "
                    "autodist-runs/JOB");
}

Status NoneToActOn(const std::string& folder) {
  return WithRemedy(
      Error(StatusCode::kNotFound, folder.empty()
                                       ? "no job is running"
                                       : "no job is running, and none was started in this folder"),
      base::TypedCommand("ps --all") + " lists all jobs");
}

std::string NameTheJob(const std::string& acting) {
  return "name the job, by its id or its name: " + base::TypedCommand(acting + " JOB");
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

std::vector<v1::JobNote> NotesOf(const std::vector<std::string>& jobs) {
  std::vector<v1::JobNote> notes;
  notes.reserve(jobs.size());
  for (const std::string& job : jobs) notes.push_back(About(job));
  return notes;
}

Result<std::string> FindJob(const std::string& word, const std::vector<v1::JobNote>& jobs,
                            const std::string& folder, const std::string& acting) {
  if (jobs.empty()) return NoJob();
  if (word == kLastJob) {
    const v1::JobStatus* const last = LastOfFolder(jobs, folder);
    if (last) return last->job_id();
    if (acting.empty() || folder.empty()) return jobs.back().job().job_id();
    return WithRemedy(
        Error(StatusCode::kNotFound, "no job was started in this folder"),
        NameTheJob(acting) + "; " + base::TypedCommand("ps --all") + " lists all jobs");
  }
  const auto is_id = [&](const v1::JobNote& job) { return job.job().job_id() == word; };
  if (std::ranges::any_of(jobs, is_id)) return word;
  std::vector<v1::JobStatus> fitting;
  if (!word.empty()) {
    const auto named = std::find_if(jobs.rbegin(), jobs.rend(), [&](const v1::JobNote& job) {
      return job.job().name() == word || job.slurm_job() == word;
    });
    if (named != jobs.rend()) return named->job().job_id();
    for (const v1::JobNote& job : jobs) {
      const std::string& id = job.job().job_id();
      if (id.starts_with(word) || id.ends_with(word)) fitting.push_back(job.job());
    }
  }
  if (fitting.size() == 1) return fitting.front().job_id();
  if (fitting.empty()) return NoJobIsCalled(word, jobs);
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "'" + word + "' is ambiguous:" + Listed(fitting)),
      "give a longer part of the id");
}

Result<std::string> DefaultJob(const std::vector<v1::JobStatus>& running,
                               const std::vector<v1::JobNote>& jobs, const std::string& folder,
                               const std::string& acting) {
  std::vector<v1::JobStatus> chosen;
  std::ranges::copy_if(running, std::back_inserter(chosen),
                       [&](const v1::JobStatus& job) { return IsOfFolder(job, folder); });
  const bool none_here = chosen.empty();
  if (none_here) {
    const v1::JobStatus* const last = LastOfFolder(jobs, folder);
    const bool others_run = !acting.empty() && !running.empty();
    // A job of which nothing is known may run on another machine.
    const bool is_meant = last && (!others_run || last->phase() != v1::JOB_PHASE_ENDED);
    if (is_meant) return last->job_id();
    chosen = running;
  }
  if (chosen.empty() && (jobs.empty() || acting.empty())) {
    return jobs.empty() ? Result<std::string>(NoJob()) : jobs.back().job().job_id();
  }
  if (chosen.empty()) return NoneToActOn(folder);
  const bool is_far = none_here && !acting.empty();
  if (chosen.size() == 1 && !is_far) return chosen.front().job_id();
  std::string text =
      chosen.size() == 1 ? "1 job is running" : std::to_string(chosen.size()) + " jobs are running";
  if (is_far && !folder.empty()) {
    text = "no job of this folder is running; " + text + " in other folders";
  }
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, text + ":" + Listed(chosen)),
      acting.empty() ? "name one of them, by its id or its name" : NameTheJob(acting));
}

std::string Described(const v1::JobStatus& job) {
  std::string text =
      job.job_id() + (job.name().empty() ? "" : " (" + base::Printable(job.name()) + ")");
  if (job.command().empty() && job.working_directory().empty()) return text;
  const std::string command = base::ShellLine({job.command().begin(), job.command().end()});
  text += ": " + base::CutTo(base::Printable(command), kMaxCommand);
  if (job.working_directory().empty()) return text;
  return text + (command.empty() ? "in " : ", in ") + base::Printable(job.working_directory());
}

bool IsOfFolder(const v1::JobStatus& job, const std::string& folder) {
  const auto is = [&](const std::string& other) {
    return !other.empty() && (other == folder || IsSameFile(other, folder));
  };
  if (folder.empty()) return false;
  if (is(base::ExpandHome(job.working_directory()))) return true;
  // With --workdir, the folder in which autodist was started is the one with the logs.
  const auto runs = std::filesystem::path(base::ExpandHome(job.log_folder())).parent_path();
  return runs.filename() == kUsualLogDir && is(runs.parent_path());
}

v1::JobNote About(const std::string& job_id) {
  // A suspended autodist answers late.
  if (auto note = ReadNote(job_id); note.ok()) return *std::move(note);
  v1::JobNote note;
  *note.mutable_job() = LookUpJob(job_id).value_or(v1::JobStatus());
  note.mutable_job()->set_job_id(job_id);
  return note;
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
  if (name == kLastJob || LooksLikeJobId(name)) {
    return Error(
        StatusCode::kInvalidArgument,
        "'" + std::string(name) + "' " +
            (name == kLastJob ? "already means the last job" : "has the form of a job's id"));
  }
  return OkStatus();
}

Result<v1::JobStatus> LookUpJob(const std::string& job_id) {
  AD_ASSIGN_OR_RETURN(Found found, LookUp(job_id));
  return std::move(found.status);
}

Result<v1::JobStatus> LookUpJobIn(const std::string& log_folder) {
  auto in_folder = ReadRecordIn(log_folder);
  if (in_folder.status().code() == StatusCode::kNotFound) {
    // Only the job's machine has it.
    const std::filesystem::path folder = AbsoluteLogFolder(log_folder);
    auto known = LookUpJob(folder.filename());
    if (known.ok() && base::ExpandHome(known->log_folder()) == folder) return known;
  }
  AD_ASSIGN_OR_RETURN(v1::JobStatus status, std::move(in_folder));
  if (status.phase() == v1::JOB_PHASE_ENDED) return status;
  auto now = LookUpJob(status.job_id());
  if (now.ok() && IsSameFile(now->log_folder(), log_folder)) return now;
  SetPlace(RunsHere(status), v1::SLURM_STATE_UNSPECIFIED, status);
  return status;
}

std::vector<v1::JobStatus> ListJobs() {
  return JobsThat(KnownJobs(), [](const Found&) { return true; });
}

std::vector<v1::JobStatus> ListRunningJobs() {
  // Records are kept for long, and most are of jobs whose notes have their end.
  std::set<std::string> jobs = JobsWithSocket();
  for (const std::string& job : RecordedJobs()) {
    const auto note = ReadNote(job);
    if (!note.ok() || note->job().phase() != v1::JOB_PHASE_ENDED) jobs.insert(job);
  }
  return RunningOf({jobs.begin(), jobs.end()});
}

std::vector<v1::JobStatus> RunningOf(const std::vector<std::string>& jobs) {
  return JobsThat(jobs, [](const Found& job) {
    return job.runs ||
           (MayRunElsewhere(job.status) && job.status.phase() != v1::JOB_PHASE_UNSPECIFIED);
  });
}

std::vector<v1::JobStatus> ListJobsThatMayRun(int64_t now_ms) {
  return JobsThat(KnownJobs(), [now_ms](const Found& job) {
    return job.runs || MayRunElsewhere(job.status) || MayStillRun(job.status, now_ms);
  });
}

}  // namespace autodist::control
