#include "cli/run_job.h"

#include "base/log.h"
#include "chief/signal_watcher.h"
#include "cli/announced_job.h"
#include "cli/commands.h"
#include "plan/plan_text.h"

namespace autodist::cli {

using base::Log;
using base::LogLevel;

int RunJob(const v1::LaunchPlan& plan, chief::JobOptions options) {
  const std::string log_folder = options.log_folder;
  const bool detached = options.detached;
  AnnouncedJob announced(plan.job_id());
  options.on_status = [&](const v1::JobStatus& status) { announced.Changed(status); };
  // What comes when the job is over must not change how this process ends.
  chief::SignalWatcher::Block();
  chief::Job job(plan, std::move(options));  // from here on Ctrl-C ends the job
  const Status reachable = announced.Start([&job](int signal) { job.Signal(signal); });
  if (!reachable.ok() && detached) return Fail(reachable, chief::kExitCannotLaunch);
  if (!reachable.ok()) Log(LogLevel::kWarning, Message(reachable));
  Log(LogLevel::kInfo,
      "job " + plan.job_id() + ": " + plan::WhatRuns(plan) + "; logs in " + log_folder);
  const int exit_code = job.Run();
  announced.Ended(job.status());
  return exit_code;
}

}  // namespace autodist::cli
