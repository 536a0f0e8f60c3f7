#include "chief/run_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "base/exit_codes.h"
#include "base/json_quote.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "chief/loop/signal_watcher.h"
#include "chief/on_exit.h"
#include "control/announced_job.h"
#include "control/faulty_nodes.h"
#include "control/job_record.h"
#include "plan/plan_text.h"
#include "process/detach.h"

namespace autodist::chief {
namespace {

using base::Log;
using base::LogLevel;

// "4 ranks on 2 nodes, and 1 spare"
std::string WhatRunsAtFirst(const v1::LaunchPlan& all, uint32_t spares) {
  if (spares == 0) return plan::WhatRunsAndWhere(all);
  v1::LaunchPlan plan = all;
  for (uint32_t i = 0; i < spares; ++i) {
    const auto devices = static_cast<uint32_t>(plan.nodes().rbegin()->devices_size());
    plan.set_world_size(plan.world_size() - devices);
    plan.mutable_nodes()->RemoveLast();
  }
  return plan::WhatRunsAndWhere(plan) + ", and " + base::Count(spares, "spare");
}

// How to attach to the terminal of the rank that has one.
std::string AttachText(const v1::LaunchPlan& plan) {
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.stdin() != v1::STDIN_KIND_TERMINAL) continue;
      const std::string number = std::to_string(rank.rank());
      return "; `autodist attach " + plan.job_id() + " --rank " + number +
             " -i` attaches to the terminal of rank " + number;
    }
  }
  return "";
}

// Returns the final status, also if the job ended before it had published one.
v1::JobStatus EndOf(const Job& job, const v1::LaunchPlan& plan, const std::string& log_folder,
                    int exit_code) {
  v1::JobStatus status = job.status();
  status.set_job_id(plan.job_id());
  status.set_exit_code(exit_code);
  status.set_log_folder(std::filesystem::absolute(log_folder));
  if (status.world_size() == 0) status.set_world_size(plan.world_size());
  return status;
}

// The last line of `run --json`.
void PrintEnd(const Job& job, int exit_code) {
  const v1::JobStatus& status = job.status();
  const std::string report =
      status.report().empty() ? "null" : base::JsonQuoted(base::ToUtf8(status.report()));
  std::printf("{\"type\":\"end\",\"time_ms\":%lld,\"exit_code\":%d,\"outcome\":%s,\"report\":%s}\n",
              static_cast<long long>(status.ended_ms()), exit_code,
              base::JsonQuoted(job.outcome()).c_str(), report.c_str());
  std::fflush(stdout);
}

void Remember(const std::map<std::string, std::string>& faulty_nodes) {
  for (const auto& [address, why] : faulty_nodes) {
    const Status remembered = control::RememberFaultyNode(address, why);
    Log(LogLevel::kWarning,
        remembered.ok()
            ? address +
                  " is now remembered as faulty; once it is repaired: autodist nodes --forget " +
                  address
            : "remembering that " + address + " is faulty: " + Message(remembered));
  }
}

// The result of a run.
struct Outcome {
  int exit_code;
  bool started = false;  // ranks were started, in some attempt
};

Outcome Run(const v1::LaunchPlan& plan, JobOptions options) {
  const base::LogFolder log_folder = options.log_folder;
  const v1::JobRequest request = options.request();
  const std::string name = request.name().empty() ? "" : " (" + request.name() + ")";
  // No thread may take a signal; and signals after the job must not change how this process ends.
  SignalWatcher::Block();
  control::AnnouncedJob announced(plan.job_id(), log_folder, std::exchange(options.nodes, {}));
  const auto start_views = std::exchange(options.start_views, {});
  JobOptions::StatusListener views;
  options.on_status = [&](const v1::JobStatus& status) {
    announced.Changed(status);
    if (views) views(status);
  };
  if (options.on_running) {
    // Users find a job as soon as they read that it runs.
    options.on_running = [&announced, announce = std::move(options.on_running)] {
      announced.AwaitRecord();
      announce();
    };
  }
  std::map<std::string, std::string> faulty_nodes;  // why, by address
  options.on_faulty_node = [&](const std::string& address, const std::string& why) {
    faulty_nodes[address] = why;
  };
  Job job(plan, std::move(options));  // from here on Ctrl-C ends the job
  // Other commands can send requests until this function returns, also by a refusal or an
  // exception.
  const Status reachable = announced.Start(job.Requests());
  const std::unique_ptr<control::AnnouncedJob, void (*)(control::AnnouncedJob*)> withdrawn(
      &announced, [](control::AnnouncedJob* of_job) { of_job->Withdraw(); });
  const auto ended = [&](int exit_code, const std::string& refusal = "") {
    if (request.on_exit().empty()) return;
    v1::JobStatus status = EndOf(job, plan, log_folder.path(), exit_code);
    status.set_name(request.name());
    if (!refusal.empty()) status.set_report(refusal);
    RunOnExit(request.on_exit(), status, job.outcome());
  };
  const auto refuse = [&](const Status& why) {
    base::LogFailure(why);
    ended(kExitCannotLaunch, Message(why));
    return Outcome{kExitCannotLaunch};
  };
  if (!reachable.ok() && request.detach()) return refuse(reachable);
  if (!reachable.ok()) Log(LogLevel::kWarning, Message(reachable));
  if (start_views) {
    auto started = start_views();
    if (!started.ok()) return refuse(started.status());
    views = *std::move(started);
  }
  Log(LogLevel::kInfo, "job " + plan.job_id() + name + ": " +
                           WhatRunsAtFirst(plan, request.spares()) + "; logs in " +
                           log_folder.path());
  const int exit_code = job.Run();
  announced.Ended(job.status());
  Remember(faulty_nodes);
  ended(exit_code);
  if (job.blocked()) _exit(exit_code);
  if (request.json()) PrintEnd(job, exit_code);
  return {exit_code, !job.status().attempt_folder().empty()};
}

// Deletes the entry in `autodist ps --all` and the logs if the start was refused, unless the
// command of --on-exit ran: it received the folder and may have written files there.
int RunAndTidy(const v1::LaunchPlan& plan, JobOptions options) {
  const base::LogFolder log_folder = options.log_folder;
  const bool may_go = options.request().on_exit().empty();
  const Outcome outcome = Run(plan, std::move(options));
  if (outcome.started || !may_go) return outcome.exit_code;
  control::ForgetJob(plan.job_id());
  // A folder that could not be created has been reported before.
  if (log_folder.Remove().ok()) {
    Log(LogLevel::kInfo, "the job and its log folder were removed");
  }
  return outcome.exit_code;
}

}  // namespace

int RunJob(const v1::LaunchPlan& plan, JobOptions options) {
  if (!options.request().detach()) return RunAndTidy(plan, std::move(options));
  auto forked = process::Detached::Fork();
  if (!forked.ok()) {
    base::LogFailure(forked.status());
    return kExitCannotLaunch;
  }
  if (const auto* outcome = std::get_if<process::DetachOutcome>(&*forked)) {
    if (outcome->running) {
      Log(LogLevel::kInfo, "job " + plan.job_id() + " is running; `autodist attach " +
                               plan.job_id() + "` shows it, `autodist stop " + plan.job_id() +
                               "` ends it" + AttachText(plan));
    }
    return outcome->exit_code;
  }
  const auto detached = std::move(std::get<std::unique_ptr<process::Detached>>(*forked));
  options.on_running = [&detached, folder = options.log_folder] {
    detached->Started(folder.OpenFile("output.log", O_WRONLY | O_CREAT | O_APPEND));
  };
  return RunAndTidy(plan, std::move(options));
}

}  // namespace autodist::chief
