// autodist run [options] -- PROGRAM [ARGUMENTS]
#include <signal.h>
#include <string.h>

#include <chrono>
#include <cstdio>

#include "base/home_folder.h"
#include "base/log.h"
#include "base/quantity.h"
#include "chief/attempt/exit_codes.h"
#include "chief/job.h"
#include "chief/run_job.h"
#include "cli/commands.h"
#include "cli/program_options.h"
#include "launch/sync_source.h"
#include "plan/plan_text.h"
#include "reach/this_machine.h"

namespace autodist::cli {
namespace {

using std::chrono::milliseconds;

double InSeconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

struct RunOptions {
  ProgramOptions program;
  NodesOptions nodes;
  std::string log_dir = "autodist-runs";
  double grace_s = InSeconds(launch::LaunchOptions().grace);
  double lease_s = InSeconds(launch::LaunchOptions().lease);
  double timeout_s = 0;
  double hang_timeout_s = 0;
  std::string on_hang = "stop";
  std::string stop_signal = "TERM";
  uint64_t spool = launch::LaunchOptions().spool_limit;
  uint32_t max_restarts = 0;
  uint32_t min_nodes = 0;
  std::string nccl_debug;
  bool no_affinity = false;
  bool no_preflight = false;
  bool sync = false;
  bool detach = false;
  bool dry_run = false;
  bool json = false;
  bool show_values = false;
};

milliseconds ToMilliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

// 0: there is no such signal. With or without "SIG", or as a number.
int SignalNumber(std::string name) {
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (int signal = 1; signal < NSIG; ++signal) {
    const char* known = sigabbrev_np(signal);
    if (name == std::to_string(signal) || (known && name == known)) return signal;
  }
  return 0;
}

CLI::Validator SignalName() {
  return CLI::Validator(
      [](const std::string& text) {
        return SignalNumber(text) != 0 ? std::string() : "'" + text + "' is no signal";
      },
      "SIGNAL");
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

chief::JobOptions MakeJobOptions(const RunOptions& options, const plan::Input& input) {
  chief::JobOptions job;
  job.launch.agent_path = reach::AgentPath(options.nodes.agent);
  job.preflight = !options.no_preflight;
  job.launch.lease = ToMilliseconds(options.lease_s);
  job.launch.grace = ToMilliseconds(options.grace_s);
  job.launch.fan_out = options.nodes.fan_out;
  job.launch.spool_limit = options.spool;
  job.launch.stop_signal = SignalNumber(options.stop_signal);
  job.log_folder = options.log_dir + "/" + input.job_id;
  job.restarts = {options.max_restarts, options.min_nodes};
  job.timeout = ToMilliseconds(options.timeout_s);
  job.hang_timeout = ToMilliseconds(options.hang_timeout_s);
  job.on_hang = options.on_hang == "warn" ? chief::OnHang::kWarn : chief::OnHang::kStop;
  job.fixed_port = options.program.program.master_port;
  job.detached = options.detach;
  job.plan_attempt = [input, port = options.program.program.master_port](
                         const std::vector<std::string>& members, uint32_t attempt) {
    return chief::PlanAttempt(input, port, members, attempt);
  };
  return job;
}

int WrongUsage(const std::string& what) {
  return Fail(Error(StatusCode::kInvalidArgument, what), kExitUsage);
}

int Run(const RunOptions& options) {
  if (options.program.program.command.empty()) {
    return WrongUsage(
        "no program; it comes after '--', as in: autodist run --spec cluster.yaml -- ./train");
  }
  if (options.json && !options.dry_run) return WrongUsage("--json goes with --dry-run");
  if (options.show_values && !options.dry_run) {
    return WrongUsage("--show-values goes with --dry-run");
  }
  const auto spec = ReadOrDefaultSpec(options.nodes.spec_file);
  if (!spec) return kExitUsage;
  if (options.min_nodes > spec->nodes.size()) {
    return WrongUsage("--min-nodes " + std::to_string(options.min_nodes) + ", but the spec has " +
                      base::Count(spec->nodes.size(), "node"));
  }
  const auto program = ProgramOf(options.program);
  auto input = program.ok() ? chief::InputOf(*spec, *program) : program.status();
  if (input.ok()) {
    input->max_restarts = options.max_restarts;
    input->gpu_affinity = !options.no_affinity;
    input->nccl_debug = options.nccl_debug;
  }
  const auto plan = input.ok() ? plan::MakePlan(*input) : input.status();
  if (!plan.ok()) {
    return Fail(plan.status(), plan.status().code() == StatusCode::kInvalidArgument
                                   ? kExitUsage
                                   : chief::kExitCannotLaunch);
  }
  Result<std::shared_ptr<launch::FolderSync>> sync = nullptr;
  if (options.sync)
    sync = launch::SyncOfWorkingDirectory(*plan, options.log_dir, base::HomeFolder());
  if (!sync.ok()) return Fail(sync.status(), chief::kExitCannotLaunch);
  if (options.dry_run) {
    if (*sync) {
      base::Log(base::LogLevel::kInfo, "to sync: " + (*sync)->WhatThereIs() + ", to " +
                                           base::Count((*sync)->nodes(), "node"));
    }
    const auto given = options.show_values ? plan::GivenValues::kShown : plan::GivenValues::kHidden;
    const auto as_text = options.json ? plan::PlanAsJson : plan::PlanAsText;
    std::fputs(as_text(*plan, given).c_str(), stdout);
    return 0;
  }
  const Status here = CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  chief::JobOptions job = MakeJobOptions(options, *input);
  job.launch.logins = reach::Logins::For(*plan);
  job.launch.sync = *std::move(sync);
  return chief::RunJob(*plan, std::move(job));
}

// What happens when something breaks, or takes too long.
void AddFaultOptions(CLI::App& app, RunOptions& options) {
  app.add_option("--grace", options.grace_s,
                 "Seconds between SIGTERM and SIGKILL when ranks are stopped")
      ->check(Seconds(0))
      ->capture_default_str();
  app.add_option("--lease", options.lease_s,
                 "Seconds after which a node that hears nothing from here ends its ranks")
      ->check(Seconds(1))
      ->capture_default_str();
  app.add_option("--stop-signal", options.stop_signal,
                 "Asks ranks to end, in place of SIGTERM: INT, USR1, ...")
      ->check(SignalName())
      ->capture_default_str();
  app.add_option("--timeout", options.timeout_s, "Seconds after which the job is stopped")
      ->check(Seconds(0));
  app.add_option("--max-restarts", options.max_restarts,
                 "How often the job is started again when a rank fails or a node is lost")
      ->capture_default_str();
  app.add_option("--min-nodes", options.min_nodes,
                 "Go on with this many nodes where others are lost: the job starts again with a "
                 "smaller world size, and takes nodes back at the next restart");
  app.add_option("--hang-timeout", options.hang_timeout_s,
                 "Seconds without output of any rank after which the ranks' stacks are recorded")
      ->check(Seconds(0));
  app.add_option("--on-hang", options.on_hang, "What to do then: stop, or only warn")
      ->check(CLI::IsMember({"stop", "warn"}))
      ->capture_default_str();
  app.add_option("--spool", options.spool,
                 "Bytes of output kept per rank on its node while none can be sent, "
                 "before the rank has to wait; 1G, 500M")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1G");
}

}  // namespace

Command AddRun(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<RunOptions>();
  AddNodesOptions(app, options->nodes);
  AddFanOut(app, options->nodes);
  app.add_option("--log-dir", options->log_dir,
                 "Where each job's folder with its ranks' output is made")
      ->check(NotEmpty())
      ->capture_default_str();
  AddProgramOptions(app, options->program);
  AddFaultOptions(app, *options);
  app.add_option("--nccl-debug", options->nccl_debug,
                 "What NCCL logs in every rank; INFO and TRACE go to the ranks' stderr")
      ->check(CLI::IsMember({"VERSION", "WARN", "INFO", "TRACE"}));
  app.add_flag("--no-affinity", options->no_affinity,
               "Let ranks run on any CPU; default: a rank on a GPU runs on the CPUs of the GPU's "
               "NUMA node");
  app.add_flag("--sync", options->sync,
               "First copy what has changed in this folder to the other nodes, apart from what "
               ".gitignore and .autodistignore name; deletes nothing there");
  app.add_flag("--detach", options->detach,
               "Return once the ranks run; `autodist ps`, attach, logs and stop reach the job");
  app.add_flag("--no-preflight", options->no_preflight,
               "Start the ranks without comparing the nodes' files, addresses and folders first");
  app.add_flag("--dry-run", options->dry_run, "Print the plan, start nothing");
  app.add_flag("--json", options->json, "With --dry-run: the plan as JSON");
  app.add_flag("--show-values", options->show_values,
               "With --dry-run: also the python_venv and the values of variables that you have "
               "given, apart from those whose names tell of secrets");
  app.footer(R"(
The program and its arguments come after '--' and reach every rank byte for byte, except that
{rank}, {local_rank}, {node_rank}, {world_size}, {local_world_size}, {node_count}, {master_addr} and
{master_port} stand for their values; {{rank}} is {rank} itself.

Examples:
  autodist run -- ./train
  autodist run --spec cluster.yaml -- python train.py --name 'two words'
  autodist run --spec cluster.yaml --dialect paddle -- python train.py
  autodist run --spec cluster.yaml --per node -- torchrun train.py
  autodist run --spec cluster.yaml --per job -- mpirun -n 8 ./train
  autodist run --spec cluster.yaml --grace 120 -- ./train     time to write a checkpoint
  autodist run --spec cluster.yaml --sync -- ./train          nodes without this folder
  autodist run --spec cluster.yaml --detach -- ./train        for days
  autodist run --spec cluster.yaml --max-restarts 3 -- ./train
  autodist run --spec cluster.yaml --min-nodes 3 -- ./train   go on without lost nodes
  autodist run --spec cluster.yaml --hang-timeout 600 -- ./train
  autodist run --spec cluster.yaml --nccl-debug INFO -- python train.py
  autodist run --spec cluster.yaml --env OMP_NUM_THREADS=8 --pass-env WANDB_API_KEY -- ./train
  autodist run --spec cluster.yaml --dry-run --json -- ./train

Ctrl-C asks all ranks to end, a second one kills them. SIGUSR1, SIGUSR2 and Ctrl-Z reach all ranks;
Ctrl-\ writes what each of them is doing into the log folder.)");
  return [options, &program] {
    options->program.program.command = program;
    return Run(*options);
  };
}

}  // namespace autodist::cli
