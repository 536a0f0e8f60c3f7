// autodist attach JOB
#include <signal.h>
#include <unistd.h>

#include "chief/attempt/exit_codes.h"
#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "control/follow_job.h"
#include "control/log_printer.h"

namespace autodist::cli {
namespace {

constexpr size_t kLastLines = 5;  // of what each rank wrote before

// Said by the signal handler itself, as the only thread may be waiting for a slow terminal.
std::string farewell;

void Leave(int signal) {
  (void)!write(STDERR_FILENO, farewell.data(), farewell.size());
  _exit(128 + signal);
}

void LeaveOnSignals(const v1::JobStatus& job) {
  farewell = "\nautodist: job " + job.job_id() + " goes on; `autodist stop " + job.job_id() +
             "` ends it\n";
  struct sigaction action {};
  action.sa_handler = Leave;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int Attach(const std::string& name) {
  const auto job = NamedJob(name);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (job->phase() != v1::JOB_PHASE_ENDED && !job->chief_gone()) LeaveOnSignals(*job);
  control::LogPrinter output({});
  const auto ended = control::FollowJob(*job, kLastLines, output);
  if (!ended.ok()) return Fail(ended.status(), chief::kExitCannotLaunch);
  if (ended->phase() != v1::JOB_PHASE_ENDED) {
    base::Log(base::LogLevel::kError, CrashedText(*ended));
    return chief::kExitCannotLaunch;
  }
  if (!ended->report().empty()) base::Log(base::LogLevel::kError, ended->report());
  return ended->exit_code();
}

}  // namespace

Command AddAttach(CLI::App& app) {
  auto job = std::make_shared<std::string>();
  app.add_option("JOB", *job, kJobHelp)->required();
  app.footer(R"(
Shows the last lines of each rank and then what the ranks write, until the job has ended; the exit
code is the job's. Ctrl-C leaves, and the job goes on. Any number of terminals can be attached, and
however slow they are, the job does not wait for them.

Examples:
  autodist attach last
  autodist attach 3fa9c1)");
  return [job] { return Attach(*job); };
}

}  // namespace autodist::cli
