#include "slurm/srun.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/split.h"
#include "process/spawn.h"

namespace autodist::slurm {
namespace {

// The variables of the allocation that srun would apply to its step. Source: srun(1), "INPUT
// ENVIRONMENT VARIABLES".
constexpr const char* kUnsetVariables[] = {
    "SLURM_NTASKS",          "SLURM_NPROCS",        "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_GPU",  "SLURM_MEM_PER_CPU",   "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",    "SLURM_GPUS",          "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",
    "SLURM_TRES_PER_TASK",   "SLURM_HINT",          "SLURM_DISTRIBUTION",
    "SLURM_STDINMODE",       "SLURM_STDOUTMODE",    "SLURM_STDERRMODE",
    "SLURM_LABELIO",         "SLURM_EXCLUSIVE",     "SLURM_EXACT",
    "SLURM_TIMELIMIT",       "SRUN_CPUS_PER_TASK",  "SLURM_CPUS_PER_TASK"};

// Messages about an allocation that ends or has ended.
constexpr std::string_view kJobEndedPatterns[] = {"already completing or completed",
                                                  "Invalid job id", "Job credential revoked"};

// Parts of lines that srun also writes when all is well. Source: slurm's proc_args.c, allocate.c,
// launch.c and srun_job.c.
constexpr std::string_view kNoticePatterns[] = {
    "cluster configuration lacks support for cpu binding",
    "queued and waiting for resources",
    "has been allocated resources",
    "Step created",  // "for StepId=7.0"
    "step created",  // of older versions, "Job step created"
    "launch/slurm: _task_start:",
    "launch/slurm: _task_finish:",
};

bool IsNotice(std::string_view line) {
  return line.starts_with("srun: ") && std::ranges::any_of(kNoticePatterns, [&](auto part) {
           return line.find(part) != std::string_view::npos;
         });
}

}  // namespace

std::vector<std::string> SrunArgv(const std::vector<std::string>& nodes, uint32_t gpus,
                                  const std::vector<std::string>& secret) {
  std::vector<std::string> argv = {"env"};
  for (const char* name : kUnsetVariables) argv.insert(argv.end(), {"-u", name});
  for (const std::string& name : secret) argv.insert(argv.end(), {"-u", name});
  std::string list;
  for (const std::string& node : nodes) list += (list.empty() ? "" : ",") + node;
  const std::string count = std::to_string(nodes.size());
  argv.insert(argv.end(),
              {"srun", "--quiet", "--overlap", "--mem=0", "--mpi=none", "--cpu-bind=none",
               "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--chdir=/", "--nodes=" + count,
               "--ntasks=" + count, "--ntasks-per-node=1", "--nodelist=" + list,
               "--job-name=autodist-agent", "--export=ALL"});
  if (gpus > 0) argv.push_back("--gres=gpu:" + std::to_string(gpus));
  return argv;
}

bool HasSrun() {
  const char* const path = std::getenv("PATH");
  return process::FindProgram("srun", path ? path : "", "/").ok();
}

std::vector<std::string> SrunInto(const std::string& job, const std::string& node, bool terminal) {
  if (!HasSrun()) return {};
  std::vector<std::string> argv = SrunArgv({node}, 0, {});
  argv.insert(argv.end(), {"--jobid=" + job, "--job-name=autodist"});
  if (terminal) argv.push_back("--pty");
  return argv;
}

std::string WithoutNotices(const std::string& said) {
  std::string text;
  for (const std::string_view line : base::Lines(said)) {
    if (IsNotice(line)) continue;
    text.append(text.empty() ? "" : "\n").append(line);
  }
  return text;
}

Status SrunError(const std::string& said) {
  for (const std::string_view line : base::Lines(said)) {
    if (!line.starts_with("srun: error: ") && !line.starts_with("srun: fatal: ")) continue;
    const std::string what(line.substr(0, line.find('\r')));
    const bool over = std::ranges::any_of(kJobEndedPatterns, [&](std::string_view part) {
      return what.find(part) != std::string::npos;
    });
    return WithRemedy(
        Error(StatusCode::kUnavailable, (over ? "Slurm has ended the job: " : "") + what),
        over ? "squeue and sacct show the reason" : "test `srun hostname`");
  }
  return OkStatus();
}

}  // namespace autodist::slurm
