// autodist run [options] -- PROGRAM [ARGUMENTS]
#include <chrono>
#include <cstdio>

#include "base/count.h"
#include "base/log.h"
#include "chief/job.h"
#include "chief/resolve.h"
#include "cli/commands.h"
#include "cli/plan_job.h"
#include "cli/sync_option.h"
#include "cli/this_machine.h"
#include "plan/plan_text.h"
#include "transport/ask_passphrase.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;
using std::chrono::milliseconds;

struct RunOptions {
  std::string spec_file;
  std::string log_dir = "autodist-runs";
  std::string agent;
  double grace_s = 30;
  double lease_s = 60;
  uint32_t fan_out = 32;
  uint16_t master_port = 0;
  bool no_preflight = false;
  bool sync = false;
  bool dry_run = false;
  bool json = false;
};

milliseconds ToMilliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

// A number of seconds on the command line; NaN is none.
CLI::Validator Seconds(double least) {
  return CLI::Validator(
      [least](const std::string& text) {
        constexpr double kMost = 86400;
        double seconds = 0;
        const bool right =
            CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= kMost;
        return right ? std::string() : "'" + text + "' is not a number of seconds up to 86400";
      },
      "SECONDS");
}

chief::JobOptions MakeJobOptions(const RunOptions& options, const v1::LaunchPlan& plan,
                                 std::shared_ptr<chief::Logins> logins) {
  chief::JobOptions job;
  job.launch.agent_path = AgentPath(options.agent);
  job.preflight = !options.no_preflight;
  job.launch.logins = std::move(logins);
  job.launch.lease = ToMilliseconds(options.lease_s);
  job.launch.grace = ToMilliseconds(options.grace_s);
  job.launch.fan_out = options.fan_out;
  job.log_folder = options.log_dir + "/" + plan.job_id();
  return job;
}

int Fail(const Status& status, int exit_code) {
  base::LogFailure(status);
  return exit_code;
}

int Run(const RunOptions& options, const std::vector<std::string>& program) {
  if (program.empty()) {
    Log(LogLevel::kError,
        "no program; it comes after '--', as in: autodist run --spec cluster.yaml -- ./train");
    return kExitUsage;
  }
  if (options.json && !options.dry_run) {
    Log(LogLevel::kError, "--json goes with --dry-run");
    return kExitUsage;
  }
  const auto spec = ReadOrDefaultSpec(options.spec_file);
  if (!spec) return kExitUsage;
  const auto plan = PlanJob(*spec, program, options.master_port);
  if (!plan.ok()) {
    return Fail(plan.status(), plan.status().code() == StatusCode::kInvalidArgument
                                   ? kExitUsage
                                   : chief::kExitCannotLaunch);
  }
  Result<std::shared_ptr<chief::FolderSync>> sync = nullptr;
  if (options.sync) sync = MakeSync(*plan, options.log_dir, HomeFolder());
  if (!sync.ok()) return Fail(sync.status(), chief::kExitCannotLaunch);
  if (options.dry_run) {
    if (*sync) {
      Log(LogLevel::kInfo,
          "to sync: " + (*sync)->WhatThereIs() + ", to " + base::Count((*sync)->nodes(), "node"));
    }
    std::fputs((options.json ? plan::PlanAsJson(*plan) : plan::PlanAsText(*plan)).c_str(), stdout);
    return 0;
  }
  const Status here =
      chief::CheckChiefIsHere(plan->nodes(0).address(), plan->nodes(0).data_address());
  if (!here.ok()) return Fail(here, kExitUsage);

  RaiseFileLimit();
  const auto logins = std::make_shared<chief::Logins>(transport::AskPassphraseOnTerminal);
  logins->Prepare(*plan);
  chief::JobOptions job_options = MakeJobOptions(options, *plan, logins);
  job_options.launch.sync = *sync;
  const std::string log_folder = job_options.log_folder;
  chief::Job job(*plan, std::move(job_options));  // from here on Ctrl-C ends the job
  Log(LogLevel::kInfo, "job " + plan->job_id() + ": " + base::Count(plan->world_size(), "rank") +
                           " on " + base::Count(static_cast<size_t>(plan->nodes_size()), "node") +
                           "; logs in " + log_folder);
  return job.Run();
}

}  // namespace

Command AddRun(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<RunOptions>();
  app.add_option("--spec", options->spec_file,
                 "The resource spec; without it, this machine alone, one rank per GPU")
      ->check(NotEmpty());
  app.add_option("--log-dir", options->log_dir,
                 "Where each job's folder with its ranks' output is made")
      ->check(NotEmpty())
      ->capture_default_str();
  app.add_option("--grace", options->grace_s,
                 "Seconds between SIGTERM and SIGKILL when ranks are stopped")
      ->check(Seconds(0))
      ->capture_default_str();
  app.add_option("--lease", options->lease_s,
                 "Seconds after which a node that hears nothing from here ends its ranks")
      ->check(Seconds(1))
      ->capture_default_str();
  app.add_option("--master-port", options->master_port,
                 "MASTER_PORT of the ranks; default: one that is free here");
  app.add_option("--fan-out", options->fan_out, "Nodes reached at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--agent", options->agent,
                 "The agent program put on the nodes; default: autodist-agent beside autodist");
  app.add_flag("--sync", options->sync,
               "First copy what has changed in this folder to the other nodes, apart from what "
               ".gitignore and .autodistignore name; deletes nothing there");
  app.add_flag("--no-preflight", options->no_preflight,
               "Start the ranks without comparing the nodes' files, addresses and folders first");
  app.add_flag("--dry-run", options->dry_run, "Print the plan, start nothing");
  app.add_flag("--json", options->json, "With --dry-run: the plan as JSON");
  app.footer(R"(
The program and its arguments come after '--' and reach every rank byte for byte.

Examples:
  autodist run -- ./train
  autodist run --spec cluster.yaml -- python train.py --name 'two words'
  autodist run --spec cluster.yaml --grace 120 -- ./train     time to write a checkpoint
  autodist run --spec cluster.yaml --sync -- ./train          nodes without this folder
  autodist run --spec cluster.yaml --dry-run --json -- ./train)");
  return [options, &program] { return Run(*options, program); };
}

}  // namespace autodist::cli
