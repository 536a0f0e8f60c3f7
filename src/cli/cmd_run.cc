// autodist run [options] -- PROGRAM [ARGUMENTS]
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>

#include "base/count.h"
#include "base/log.h"
#include "chief/job.h"
#include "chief/resolve.h"
#include "cli/commands.h"
#include "cli/local_gpus.h"
#include "cli/sync_option.h"
#include "plan/plan.h"
#include "plan/plan_text.h"
#include "spec/yaml_reader.h"

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
  bool sync = false;
  bool dry_run = false;
  bool json = false;
};

milliseconds ToMilliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

// "20261120-173000-3fa9c1": sorts by time, and does not repeat.
std::string NewJobId() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[40];
  const size_t length = std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  std::snprintf(text + length, sizeof text - length, "-%06x", std::random_device()() & 0xFFFFFF);
  return text;
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

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& text) {
        return text.empty() ? std::string("the value is empty") : std::string();
      },
      "");
}

// As the shell shows it, symbolic links and all, where that is where we are: nodes may have the
// same link to another place.
Result<std::string> LogicalWorkingDirectory() {
  std::error_code error;
  const std::string physical = std::filesystem::current_path(error);
  if (error) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "working directory: " + error.message()),
                      "cd to a folder that exists");
  }
  const char* logical = std::getenv("PWD");
  struct stat a;
  struct stat b;
  const bool same = logical && logical[0] == '/' && stat(logical, &a) == 0 && stat(".", &b) == 0 &&
                    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  return same ? std::string(logical) : physical;
}

std::string UserName() {
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_name : "";
}

std::string HomeFolder() {
  const char* home = std::getenv("HOME");
  const passwd* entry = home ? nullptr : getpwuid(geteuid());
  return home ? home : entry ? entry->pw_dir : "/";
}

std::string BesideThisProgram(const char* name) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name;
}

// Two log files per rank and a socket or two per node.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::optional<spec::ResourceSpec> ReadOrDefaultSpec(const std::string& file) {
  if (file.empty()) return spec::SingleNode(LocalGpus());
  spec::ReadOutcome outcome = spec::ReadSpecFile(file);
  for (const spec::Problem& problem : outcome.problems) {
    std::fprintf(stderr, "%s\n", problem.ToString().c_str());
  }
  return outcome.spec;
}

Result<v1::LaunchPlan> MakePlan(const RunOptions& options, const spec::ResourceSpec& spec,
                                const std::vector<std::string>& program) {
  plan::Input input;
  input.spec = spec;
  input.command = program;
  input.job_id = NewJobId();
  AD_ASSIGN_OR_RETURN(input.working_directory, LogicalWorkingDirectory());
  input.username = UserName();
  input.home = HomeFolder();
  input.master_port = options.master_port;
  AD_ASSIGN_OR_RETURN(input.ip_of, chief::ResolveAddresses(spec));
  if (input.master_port == 0) {
    AD_ASSIGN_OR_RETURN(input.master_port, chief::FreePort());
  }
  return plan::MakePlan(input);
}

chief::JobOptions MakeJobOptions(const RunOptions& options, const v1::LaunchPlan& plan) {
  chief::JobOptions job;
  job.launch.agent_path =
      options.agent.empty() ? BesideThisProgram("autodist-agent") : options.agent;
  job.launch.known_hosts_files = {HomeFolder() + "/.ssh/known_hosts",
                                  HomeFolder() + "/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts",
                                  "/etc/ssh/ssh_known_hosts2"};
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
  const auto plan = MakePlan(options, *spec, program);
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
  chief::JobOptions job_options = MakeJobOptions(options, *plan);
  job_options.launch.sync = *sync;
  Log(LogLevel::kInfo, "job " + plan->job_id() + ": " + base::Count(plan->world_size(), "rank") +
                           " on " + base::Count(static_cast<size_t>(plan->nodes_size()), "node") +
                           "; logs in " + job_options.log_folder);
  return chief::Job(*plan, std::move(job_options)).Run();
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
