#include "slurm/ended_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/utf8.h"
#include "process/process_tree.h"
#include "transport/local.h"

namespace autodist::slurm {
namespace {

// Source: scontrol(1) and squeue(1), "JOB STATE CODES".
constexpr std::string_view kEndStates[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING",
                                           "DEADLINE",  "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY",
                                           "PREEMPTED", "REVOKED",   "TIMEOUT"};

constexpr std::chrono::seconds kJobLimit{3};       // for the controller's answer
constexpr std::chrono::seconds kMaxAnswerAge{10};  // of NothingRuns

// Settings of users and sites. Source: squeue(1) and sbatch(1), "ENVIRONMENT VARIABLES".
constexpr std::string_view kSettings[] = {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT",
                                          "SLURM_JWT",  "SLURM_ACCOUNT",  "SLURM_PARTITION"};

std::string JobId() {
  const char* id = std::getenv("SLURM_JOB_ID");
  return id ? id : "";
}

// Whether this process is part of a running step, which spares a question.
bool IsInStep() {
  constexpr size_t kMaxName = 64;
  for (pid_t pid = getpid(); pid > 1; pid = process::ParentOf(pid)) {
    const auto name = base::ReadFile("/proc/" + std::to_string(pid) + "/comm", kMaxName);
    if (name.ok() && name->starts_with("slurmstepd")) return true;
  }
  return false;
}

}  // namespace

Result<std::string> Scontrol(std::vector<std::string> arguments, std::chrono::milliseconds limit) {
  constexpr size_t kMaxOutput = 16 << 20;  // bytes
  arguments.insert(arguments.begin(), {"scontrol", "show"});
  AD_ASSIGN_OR_RETURN(const auto program, transport::StartOurProgram(arguments));
  AD_ASSIGN_OR_RETURN(std::string output,
                      transport::OutputOf(*program, base::Deadline::After(limit), kMaxOutput));
  if (program->ExitStatus() == 0) return output;
  std::string said = program->StderrTail();
  while (said.ends_with('\n')) said.pop_back();
  return Error(StatusCode::kUnavailable, "scontrol show " + arguments[2] + ": " + said);
}

Result<std::string> ScontrolJob(std::chrono::milliseconds limit) {
  auto job = Scontrol({"job", "--details", JobId()}, limit);
  if (!SaysEnded(job.ok() ? *job : Message(job.status()))) return job;
  return WithRemedy(Error(StatusCode::kInvalidArgument, "Slurm job " + base::Printable(JobId()) +
                                                            " (SLURM_JOB_ID of this shell) has "
                                                            "ended"),
                    "start in a new shell, or get an allocation with salloc");
}

bool SaysEnded(std::string_view said) {
  if (said.find("Invalid job id specified") != said.npos) return true;
  constexpr std::string_view kState = "JobState=";
  bool ended = false;  // of an array, all jobs
  for (size_t at = said.find(kState); at != said.npos; at = said.find(kState, at + 1)) {
    const std::string_view rest = said.substr(at + kState.size());
    const std::string_view state = rest.substr(0, rest.find_first_of(" \n"));
    ended = std::ranges::find(kEndStates, state) != std::end(kEndStates);
    if (!ended) return false;
  }
  return ended;
}

bool SaysNothingRuns(std::string_view said) {
  if (said.find("JobState=COMPLETING") != said.npos) return false;
  return SaysEnded(said) || said.find("JobState=PENDING") != said.npos;
}

bool NothingRuns(const std::string& job, const std::string& node) {
  struct Answer {
    bool nothing = false;
    base::Deadline age = base::Deadline::After(kMaxAnswerAge);
  };
  static std::mutex mutex;
  static std::map<std::string, Answer> answers;
  {
    const std::lock_guard lock(mutex);
    const auto known = answers.find(job);
    if (known != answers.end() && !known->second.age.Expired()) return known->second.nothing;
  }
  const auto said = Scontrol({"job", job}, kJobLimit);
  const bool nothing = SaysNothingRuns(said.ok() ? *said : Message(said.status())) &&
                       Scontrol({"node", node}, kJobLimit).ok();
  const std::lock_guard lock(mutex);
  answers.insert_or_assign(job, Answer{.nothing = nothing});
  return nothing;
}

bool IsOfJob(std::string_view variable) {
  return (variable.starts_with("SLURM_") || variable == "SLURMD_NODENAME") &&
         std::ranges::find(kSettings, variable) == std::end(kSettings);
}

Status CheckJobRuns() {
  if (JobId().empty() || IsInStep()) return OkStatus();
  const Status job = ScontrolJob(kJobLimit).status();
  return job.code() == StatusCode::kInvalidArgument ? job : OkStatus();
}

void LeaveEndedJob() {
  const Status runs = CheckJobRuns();
  if (runs.ok()) return;
  std::vector<std::string> names;
  for (const char* const* entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (IsOfJob(name)) names.emplace_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  base::Log(base::LogLevel::kInfo, Message(runs) + "; its variables are not used");
}

}  // namespace autodist::slurm
