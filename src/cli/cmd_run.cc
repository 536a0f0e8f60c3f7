// autodist run [options] -- PROGRAM [ARGUMENTS]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/home_folder.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "chief/attempt/exit_codes.h"
#include "chief/input/raw_terminal.h"
#include "chief/job.h"
#include "chief/moved/start_there.h"
#include "chief/output/rank_logs.h"
#include "chief/run_job.h"
#include "cli/chief_on.h"
#include "cli/commands.h"
#include "cli/program_options.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "launch/call_in.h"
#include "launch/slurm_steps.h"
#include "launch/sync_source.h"
#include "plan/plan_summary.h"
#include "plan/plan_text.h"
#include "reach/kubernetes_pods.h"
#include "reach/slurm_allocation.h"
#include "reach/this_machine.h"

namespace autodist::cli {
namespace {

using std::chrono::milliseconds;

// Of a pod, for a chief whose image has yet to come; Kubernetes makes the pod anew after it.
constexpr std::chrono::seconds kCallPatience{3600};

milliseconds ToMilliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

chief::HangLimit HangLimitOf(const std::string& text) {
  if (text == "auto") return {.by_steps = true};
  return {.fixed = ToMilliseconds(text.empty() ? 0 : std::stod(text))};
}

// Nobody is at the terminal of a detached job, or of one that the shell has put into the
// background.
chief::JobOptions::OwnInput OwnInputOf(const RunOptions& options) {
  using OwnInput = chief::JobOptions::OwnInput;
  if (!options.stdin_rank || options.detach) return OwnInput::kNone;
  if (isatty(STDIN_FILENO) == 0) return OwnInput::kPipe;
  return chief::RawTerminal::IsOurs() ? OwnInput::kTerminal : OwnInput::kNone;
}

void SetStdin(const RunOptions& options, plan::Input& input) {
  if (!options.stdin_rank) return;
  const bool piped = OwnInputOf(options) == chief::JobOptions::OwnInput::kPipe;
  const char* terminal = std::getenv("TERM");
  input.stdin_rank = options.stdin_rank;
  input.stdin_kind = piped ? v1::STDIN_KIND_PIPE : v1::STDIN_KIND_TERMINAL;
  input.terminal = terminal && *terminal ? terminal : "xterm";
}

chief::JobOptions MakeJobOptions(const RunOptions& options, const plan::Input& input) {
  chief::JobOptions job;
  job.launch.agent_path = options.nodes.agent;
  job.preflight = !options.no_preflight;
  job.launch.lease = ToMilliseconds(options.lease_s);
  job.launch.grace = ToMilliseconds(options.grace_s);
  job.launch.fan_out = options.nodes.fan_out;
  SetPatience(options.nodes, job.launch);
  job.launch.spool_limit = options.spool;
  job.launch.stop_signal = SignalNumber(options.stop_signal);
  job.launch.sample = ToMilliseconds(options.sample_s);
  job.log_folder = options.log_dir + "/" + input.job_id;
  job.name = options.name;
  job.progress_pattern = options.progress;
  job.restarts = {options.max_restarts, options.min_nodes};
  if (!options.checkpoint_dir.empty()) {
    job.checkpoint_dir = std::filesystem::absolute(options.checkpoint_dir).string();
  }
  job.timeout = ToMilliseconds(options.timeout_s);
  job.hang_limit = HangLimitOf(options.hang_timeout);
  job.on_hang = options.on_hang == "warn" ? chief::OnHang::kWarn : chief::OnHang::kStop;
  if (options.on_busy == "warn") job.on_busy = chief::OnBusy::kWarn;
  if (options.on_busy == "refuse") job.on_busy = chief::OnBusy::kRefuse;
  if (options.on_busy == "wait") job.on_busy = chief::OnBusy::kWait;
  job.fixed_port = options.program.program.master_port;
  job.detached = options.detach;
  job.own_input = OwnInputOf(options);
  job.stdin_rank = options.stdin_rank.value_or(0);
  job.on_end = options.on_end;
  *job.fetch.mutable_patterns() = {options.fetch.begin(), options.fetch.end()};
  job.fetch.set_most_bytes(options.max_size);
  job.plan_attempt = [input,
                      port = options.program.program.master_port](const plan::Replan& replan) {
    return chief::PlanAttempt(input, port, replan);
  };
  return job;
}

int WrongUsage(const std::string& what) {
  return Fail(Error(StatusCode::kInvalidArgument, what), kExitUsage);
}

// When Slurm ends the job itself.
void WarnOfSlurm(double grace_s, bool detach) {
  if (detach) {
    base::Log(
        base::LogLevel::kWarning,
        "with --detach nothing here waits for the job, and Slurm ends it with the shell or script "
        "of the allocation; `autodist attach last` waits");
  }
  const auto kill_wait = reach::SlurmKillWait();
  if (!kill_wait.ok() || grace_s <= static_cast<double>(kill_wait->count())) return;
  base::Log(
      base::LogLevel::kWarning,
      "ranks have no more than " + base::Seconds(*kill_wait) +
          " to end when Slurm cancels the job (its KillWait), whatever --grace says; for more, "
          "give sbatch --signal=B:TERM@SECONDS");
}

// In a pod that is not the chief's.
int Call(const NodesOptions& options, const reach::KubernetesPod& pod) {
  base::Log(base::LogLevel::kInfo, pod.node + " calls the chief, " + pod.chief_address);
  return Fail(launch::BecomeCaller(options.agent, pod.node, pod.chief_address, reach::kKeyFile,
                                   kCallPatience),
              chief::kExitCannotLaunch);
}

// Null where nothing is to be copied.
Result<std::shared_ptr<launch::FolderSync>> SyncOf(const RunOptions& options,
                                                   const v1::LaunchPlan& plan) {
  if (!options.sync) return nullptr;
  return launch::SyncOfWorkingDirectory(
      plan, options.log_dir, base::HomeFolder(),
      options.sync_from == "here" ? launch::SyncFrom::kHere : launch::SyncFrom::kFirstNode);
}

void LogSync(const launch::FolderSync& sync) {
  base::Log(base::LogLevel::kInfo, "to sync: " + sync.WhatThereIs() + ", to " +
                                       base::Count(sync.nodes(), "node") +
                                       (sync.relays() ? ", by way of the first" : ""));
}

int RunThere(const CLI::App& app, const RunOptions& options, const plan::Input& input,
             const v1::LaunchPlan& plan, const std::string& node,
             std::shared_ptr<launch::FolderSync> sync) {
  launch::LaunchOptions launch = MakeJobOptions(options, input).launch;
  launch.logins = reach::Logins::For(plan);
  launch.sync = std::move(sync);
  return RunFromNode(app, options, input, plan, node, launch);
}

// Whether the options go together.
Status CheckTogether(const CLI::App& app, const RunOptions& options) {
  const auto wrong = [](const char* what) { return Error(StatusCode::kInvalidArgument, what); };
  if (options.program.program.command.empty()) {
    return wrong(
        "no program; it comes after the options: autodist run --spec cluster.yaml -- ./train");
  }
  const bool prints_json = options.json && !options.dry_run;
  if (prints_json && (options.detach || options.stdin_rank)) {
    return wrong("--json goes with neither --detach nor --stdin-rank");
  }
  if (options.verbose && !options.dry_run) return wrong("--verbose goes with --dry-run");
  if (options.show_values && !options.dry_run) return wrong("--show-values goes with --dry-run");
  if (options.web_control && !options.web) return wrong("--web-control goes with --web");
  if (options.no_preflight && !options.on_busy.empty()) {
    return wrong("--on-busy has to look at the nodes first, but there is --no-preflight");
  }
  return options.chief_on.empty() ? OkStatus() : CheckChiefOn(app, options);
}

int Run(const CLI::App& app, const RunOptions& options) {
  const Status together = CheckTogether(app, options);
  if (!together.ok()) return Fail(together, kExitUsage);
  if (options.nodes.kubernetes) {
    const auto pod = reach::ThisPod();
    if (pod.ok() && !pod->chief) return Call(options.nodes, *pod);
  }
  auto spec = SpecOf(options.nodes);
  if (!spec) return kExitUsage;
  const bool moves = !options.chief_on.empty();
  const Status outside = moves ? LeaveChiefOut(*spec) : OkStatus();
  if (!outside.ok()) return Fail(outside, kExitUsage);
  const auto with_ranks = static_cast<size_t>(std::ranges::count_if(
      spec->nodes, [](const spec::Node& node) { return !node.devices().empty(); }));
  if (options.min_nodes > with_ranks) {
    return WrongUsage("--min-nodes " + std::to_string(options.min_nodes) + ", but the spec has " +
                      base::Count(with_ranks, "node"));
  }
  const auto program = ProgramOf(options.program);
  auto input = program.ok() ? chief::InputOf(*spec, *program) : program.status();
  if (input.ok()) {
    input->max_restarts = options.max_restarts;
    input->gpu_affinity = !options.no_affinity;
    input->nccl_debug = options.nccl_debug;
    SetStdin(options, *input);
  }
  auto plan = input.ok() ? plan::MakePlan(*input) : input.status();
  if (!plan.ok()) {
    return Fail(plan.status(), plan.status().code() == StatusCode::kInvalidArgument
                                   ? kExitUsage
                                   : chief::kExitCannotLaunch);
  }
  const auto chief_node = moves ? chief::NodeForChief(input->spec, *plan, options.chief_on) : "";
  if (!chief_node.ok()) return Fail(chief_node.status(), kExitUsage);
  auto view = ViewOf(options.display, chief::ProcessesOf(*plan));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  auto sync = SyncOf(options, *plan);
  if (!sync.ok()) return Fail(sync.status(), chief::kExitCannotLaunch);
  if (options.dry_run) {
    if (*sync) LogSync(**sync);
    const auto given = options.show_values ? plan::GivenValues::kShown : plan::GivenValues::kHidden;
    const bool summary = !options.json && !options.verbose && !options.show_values;
    const auto as_text = options.json ? plan::PlanAsJson : plan::PlanAsText;
    const std::string text = summary ? plan::PlanSummary(*plan) : as_text(*std::move(plan), given);
    // A spec may come from another user, who wants it checked first.
    std::fputs((isatty(STDOUT_FILENO) == 1 ? base::PrintableLines(text) : text).c_str(), stdout);
    return 0;
  }
  if (moves) return RunThere(app, options, *input, *plan, *chief_node, *std::move(sync));
  if (options.nodes.slurm) WarnOfSlurm(options.grace_s, options.detach);
  const Status here = CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  chief::JobOptions job = MakeJobOptions(options, *input);
  job.launch.logins = launch::LoginsFor(*plan, job.launch.agent_path, job.launch.lease);
  job.launch.sync = *std::move(sync);
  job.view = *std::move(view);
  job.view.json = options.json;
  if (job.own_input == chief::JobOptions::OwnInput::kTerminal)
    job.view.at_terminal = options.stdin_rank;
  return chief::RunJob(*plan, std::move(job), {options.metrics, options.web, options.web_control});
}

}  // namespace

Command AddRun(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<RunOptions>();
  app.prefix_command();
  AddRunOptions(app, *options);
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
  autodist run --spec cluster.yaml --fetch 'ckpt*' --fetch 'core.*' -- ./train
  autodist run --spec cluster.yaml --detach --name sweep-3 -- ./train
  autodist run --spec cluster.yaml --detach --chief-on first -- ./train   from a laptop that may sleep
  autodist run --spec cluster.yaml --stdin-rank 0 -- python -m pdb train.py
  autodist run --spec cluster.yaml --detach --on-end 'mail -s "$AUTODIST_JOB_ID $AUTODIST_VERDICT" me' -- ./train
  autodist run --spec cluster.yaml --max-restarts 3 -- ./train
  autodist run --spec cluster.yaml --max-restarts 3 --checkpoint-dir ckpt -- ./train
  autodist run --spec cluster.yaml --min-nodes 3 -- ./train   go on without lost nodes
  autodist run --spec cluster.yaml --hang-timeout 600 -- ./train
  autodist run --spec cluster.yaml --hang-timeout auto -- ./train   by what a step takes
  autodist run --spec cluster.yaml --on-busy wait -- ./train  start once the GPUs are free
  autodist run --spec cluster.yaml --show 0,8-15 -- python train.py
  autodist run --spec cluster.yaml --nccl-debug INFO -- python train.py
  autodist run --spec cluster.yaml --web -- ./train           a page that shows the job, live
  autodist run --spec cluster.yaml --metrics 127.0.0.1:9464 -- ./train   for Prometheus
  autodist run --spec cluster.yaml --env OMP_NUM_THREADS=8 --pass-env WANDB_API_KEY -- ./train
  autodist run --spec cluster.yaml --dry-run --json -- ./train

Ctrl-C asks all ranks to end, a second one kills them. SIGUSR1, SIGUSR2 and Ctrl-Z reach all ranks;
Ctrl-\ writes what each of them is doing into the log folder.)");
  return [options, &app, &program] {
    options->program.program.command = program;
    return Run(app, *options);
  };
}

}  // namespace autodist::cli
