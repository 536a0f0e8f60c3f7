#include "chief/on_exit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "base/quantity.h"
#include "base/signal_name.h"
#include "base/split.h"
#include "chief/attempt/cause.h"
#include "process/environment.h"
#include "process/process_tree.h"
#include "process/spawn.h"

namespace autodist::chief {
namespace {

process::Environment EnvironmentOf(const v1::JobStatus& ended, const std::string& outcome) {
  process::Environment environment = process::Environment::FromStrings(environ);
  const int64_t elapsed_ms = std::max<int64_t>(ended.ended_ms() - ended.started_ms(), 0);
  const std::string& report = ended.report();
  environment.Set("AUTODIST_JOB_ID", ended.job_id());
  environment.Set("AUTODIST_JOB_NAME", ended.name());
  environment.Set("AUTODIST_OUTCOME", outcome);
  environment.Set("AUTODIST_EXIT_CODE", std::to_string(ended.exit_code()));
  environment.Set("AUTODIST_ELAPSED_S", std::to_string(elapsed_ms / 1000));
  environment.Set("AUTODIST_WORLD_SIZE", std::to_string(ended.world_size()));
  environment.Set("AUTODIST_CAUSE",
                  ended.exit_code() == 0 ? "" : Shortened(base::FirstLine(report)));
  environment.Set("AUTODIST_LOG_FOLDER", ended.log_folder());
  return environment;
}

Status RunShell(const std::string& command, const process::Environment& environment,
                std::chrono::milliseconds limit) {
  process::SpawnRequest request = process::OurProgram({"sh", "-c", command}, environment);
  request.stdout_fd = STDOUT_FILENO;
  request.stderr_fd = STDERR_FILENO;
  request.own_process_group = false;  // Ctrl-C ends both
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(request));
  const auto end = process::EndOf(pid);
  const bool overdue =
      end.ok() && !base::WaitReadable(end->get(), base::Deadline::After(limit)).ok();
  if (overdue) {
    kill(pid, SIGSTOP);  // so that it starts no more processes
    process::KillDescendants(pid);
    kill(pid, SIGKILL);
  }
  const int status = process::Reap(pid);
  if (overdue) {
    return Error(StatusCode::kDeadlineExceeded,
                 "it was killed, as it took longer than " + base::Elapsed(limit));
  }
  if (WIFSIGNALED(status)) {
    return Error(StatusCode::kInternal, "it was ended by " + base::SignalName(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) == 0) return OkStatus();
  return Error(StatusCode::kInternal, "it exited with code " + std::to_string(WEXITSTATUS(status)));
}

}  // namespace

void RunOnExit(const std::string& command, const v1::JobStatus& ended, const std::string& outcome,
               std::chrono::milliseconds limit) {
  const Status run = RunShell(command, EnvironmentOf(ended, outcome), limit);
  if (!run.ok()) {
    base::Log(base::LogLevel::kWarning, "the command of --on-exit failed: " + Message(run));
  }
}

}  // namespace autodist::chief
