#include "slurm/ended_job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/process_tree.h"
#include "transport/local.h"

namespace autodist::slurm {
namespace {

// Source: scontrol(1) and squeue(1), "JOB STATE CODES".
constexpr std::string_view kEndStates[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING",
                                           "DEADLINE",  "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY",
                                           "PREEMPTED", "REVOKED",   "TIMEOUT"};

constexpr std::string_view kJobState = "JobState=";

// Of a node that does not answer. Source: sinfo(1), "NODE STATE CODES".
constexpr std::string_view kSilentStates[] = {"DOWN", "FAIL", "NOT_RESPONDING", "UNKNOWN"};

constexpr std::chrono::seconds kJobLimit{3};       // for the controller's answer
constexpr std::chrono::seconds kMaxAnswerAge{10};  // of StateOf

// Settings of users and sites. Source: squeue(1) and sbatch(1), "ENVIRONMENT VARIABLES".
constexpr std::string_view kSettings[] = {"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT",
                                          "SLURM_JWT",  "SLURM_ACCOUNT",  "SLURM_PARTITION"};

std::string JobId() {
  const char* id = std::getenv("SLURM_JOB_ID");
  return id ? id : "";
}

bool IsUnknown(std::string_view said) { return said.find("Invalid job id specified") != said.npos; }

bool IsEnd(std::string_view state) {
  return std::ranges::find(kEndStates, state) != std::end(kEndStates);
}

// Whether there are values of `name` ("State="), and all are so. An array has several jobs.
bool AllValues(std::string_view said, std::string_view name,
               const std::function<bool(std::string_view value)>& are_so) {
  bool any = false;
  for (const std::string_view line : base::Lines(said)) {
    for (std::string_view word : base::Split(line, ' ')) {
      if (!base::TakePrefix(word, name)) continue;
      if (!are_so(word)) return false;
      any = true;
    }
  }
  return any;
}

// The text that scontrol has printed, or its error.
std::string SaidOf(std::vector<std::string> arguments) {
  const auto said = Scontrol(std::move(arguments), kJobLimit);
  return said.ok() ? *said : Message(said.status());
}

// Another cluster may have a job of this number, and a node of this name. `said`: what this cluster
// says of the job.
bool MayBeOfAnotherCluster(const v1::JobNote& note, std::string_view said) {
  const std::string& cluster = note.slurm_cluster();
  return cluster.empty() ? IsUnknown(said) : ThisCluster() != cluster;
}

v1::SlurmState AskForState(const v1::JobNote& note) {
  const std::string said = SaidOf({"job", note.slurm_job()});
  const v1::SlurmState state = StateIn(said);
  if (state == v1::SLURM_STATE_UNSPECIFIED) return state;
  if (MayBeOfAnotherCluster(note, said)) return v1::SLURM_STATE_UNSPECIFIED;
  const bool left =
      state == v1::SLURM_STATE_ENDED && !NodeAnswers(SaidOf({"node", note.slurm_node()}));
  return left ? v1::SLURM_STATE_NODE_DOWN : state;
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
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "Slurm job " + base::Printable(JobId()) +
                                              " (SLURM_JOB_ID of this shell) has "
                                              "ended"),
      "get an allocation with salloc or sbatch, and run this in it: this shell only has "
      "the variables of the ended job");
}

std::string_view SettingIn(std::string_view config, std::string_view name) {
  for (const std::string_view line : base::Lines(config)) {
    const size_t equals = line.find("= ");
    if (equals != std::string_view::npos && line.substr(0, line.find(' ')) == name) {
      return line.substr(equals + 2);
    }
  }
  return "";
}

bool SaysEnded(std::string_view said) {
  return IsUnknown(said) || AllValues(said, kJobState, IsEnd);
}

v1::SlurmState StateIn(std::string_view said) {
  const auto is_over = [](std::string_view state) {
    return state != "COMPLETING" && (IsEnd(state) || state == "PENDING");
  };
  if (IsUnknown(said) || AllValues(said, kJobState, is_over)) return v1::SLURM_STATE_ENDED;
  return said.find(kJobState) == said.npos ? v1::SLURM_STATE_UNSPECIFIED : v1::SLURM_STATE_RUNNING;
}

SubmissionState SubmissionStateIn(std::string_view said) {
  const auto is_pending = [](std::string_view state) { return state == "PENDING"; };
  if (AllValues(said, kJobState, is_pending)) return SubmissionState::kPending;
  return SaysEnded(said) ? SubmissionState::kEnded : SubmissionState::kOther;
}

SubmissionState SubmissionStateOf(const v1::JobNote& note) {
  const std::string said = SaidOf({"job", note.slurm_job()});
  const SubmissionState state = SubmissionStateIn(said);
  const bool is_known = state != SubmissionState::kOther && !MayBeOfAnotherCluster(note, said);
  return is_known ? state : SubmissionState::kOther;
}

std::string ThisCluster() {
  const std::string config = SaidOf({"config"});
  const std::string_view name = SettingIn(config, "ClusterName");
  return name == "(null)" ? "" : std::string(name);
}

bool NodeAnswers(std::string_view said) {
  return AllValues(said, "State=", [](std::string_view states) {
    return !states.ends_with('*') &&
           std::ranges::none_of(base::Split(states, '+'), [](std::string_view state) {
             return std::ranges::find(kSilentStates, state) != std::end(kSilentStates);
           });
  });
}

v1::SlurmState StateOf(const v1::JobNote& note) {
  struct Answer {
    v1::SlurmState state = v1::SLURM_STATE_UNSPECIFIED;
    base::Deadline age = base::Deadline::After(kMaxAnswerAge);
  };
  using Key = std::array<std::string, 3>;
  static std::mutex mutex;
  static std::map<Key, Answer> answers;
  const Key key = {note.slurm_job(), note.slurm_node(), note.slurm_cluster()};
  {
    const std::lock_guard lock(mutex);
    const auto known = answers.find(key);
    if (known != answers.end() && !known->second.age.Expired()) return known->second.state;
  }
  const v1::SlurmState state = AskForState(note);
  const std::lock_guard lock(mutex);
  answers.insert_or_assign(key, Answer{.state = state});
  return state;
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
