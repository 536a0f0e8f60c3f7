// autodist run [options] -- PROGRAM [ARGUMENTS]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "base/exit_codes.h"
#include "base/for_user.h"
#include "base/home_folder.h"
#include "base/log.h"
#include "base/log_folder.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "chief/checks/doctor.h"
#include "chief/input/terminal_input.h"
#include "chief/output/rank_logs.h"
#include "chief/plan_job.h"
#include "chief/remote_controller/start_remote.h"
#include "chief/run_job.h"
#include "cli/chief_on.h"
#include "cli/commands.h"
#include "cli/jobs_in_folder.h"
#include "cli/nodes_options.h"
#include "cli/other_launchers.h"
#include "cli/run_options.h"
#include "control/faulty_nodes.h"
#include "json/proto_json.h"
#include "kubernetes/pods.h"
#include "metrics/server.h"
#include "plan/plan_summary.h"
#include "plan/plan_text.h"
#include "reach/resolve.h"
#include "slurm/allocation.h"
#include "slurm/steps.h"
#include "spec/resource_spec.h"
#include "spec/spec_text.h"
#include "transfer/sync_source.h"
#include "web/server.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

constexpr char kAddressFile[] = "web-address";

// The page and the metrics that `run` serves while its job runs. Both are clients of the job's
// control socket, as another process would be. Not thread-safe.
class JobViews {
 public:
  // Starts the servers of --metrics and --web. Fails if one of them cannot listen.
  static Result<std::unique_ptr<JobViews>> Start(const v1::JobRequest& request,
                                                 const std::string& job_id);
  JobViews(const JobViews&) = delete;
  JobViews& operator=(const JobViews&) = delete;
  ~JobViews();

  // Prints the addresses, once. The address of the page grants access: if stderr is not a terminal,
  // and so may be a file that other users can read, writes it to a file in this folder that only
  // this user can read. Blocks on the disk.
  void Announce(const base::LogFolder& log_folder);

 private:
  JobViews() = default;
  void KeepAddress(const base::LogFolder& folder);

  std::unique_ptr<metrics::Server> metrics_;
  std::unique_ptr<web::Server> web_;
  bool announced_ = false;
  std::optional<base::LogFolder> address_kept_in_;
};

Result<std::unique_ptr<JobViews>> JobViews::Start(const v1::JobRequest& request,
                                                  const std::string& job_id) {
  std::unique_ptr<JobViews> views(new JobViews);
  if (request.has_metrics()) {
    auto metrics = metrics::Server::Start({request.metrics(), job_id});
    if (!metrics.ok()) return Annotate(metrics.status(), "--metrics");
    views->metrics_ = *std::move(metrics);
  }
  if (request.has_web()) {
    auto web = web::Server::Start({.job = job_id,
                                   .only_job = true,
                                   .address = request.web(),
                                   .control = request.web_allow_actions()});
    if (!web.ok()) return Annotate(web.status(), "--web");
    views->web_ = *std::move(web);
  }
  return views;
}

JobViews::~JobViews() {
  if (!address_kept_in_) return;
  const auto folder = address_kept_in_->Open();
  if (folder.ok()) unlinkat((*folder)->get(), kAddressFile, 0);  // the address is no longer valid
}

void JobViews::Announce(const base::LogFolder& log_folder) {
  if (std::exchange(announced_, true)) return;
  if (metrics_) Log(LogLevel::kInfo, "metrics at " + metrics_->url());
  if (!web_) return;
  if (!web_->is_local()) Log(LogLevel::kWarning, web::kTokenIsRead);
  if (isatty(STDERR_FILENO) == 1) {
    Log(LogLevel::kInfo, "page at " + web_->url());
  } else {
    KeepAddress(log_folder);
  }
}

void JobViews::KeepAddress(const base::LogFolder& folder) {
  const Status kept = folder.WriteFile(kAddressFile, web_->url() + "\n");
  if (!kept.ok()) {
    return Log(LogLevel::kWarning, "the address of the page cannot be written: " + Message(kept));
  }
  address_kept_in_ = folder;
  Log(LogLevel::kInfo, "page: its address is in " +
                           (std::filesystem::absolute(folder.path()) / kAddressFile).string());
}

// How many nodes the job can do without before it starts.
uint32_t Dispensable(const spec::ResourceSpec& spec, const v1::JobRequest& request) {
  const auto nodes = static_cast<uint32_t>(std::ranges::count_if(
      spec.nodes, [](const spec::Node& node) { return !node.devices().empty(); }));
  if (request.min_nodes() == 0) return request.spares();
  return nodes - std::min(nodes, std::max(request.min_nodes(), 1u));
}

std::string TextOf(const control::FaultyNode& node) {
  return node.address + " is remembered as faulty since " + base::Printable(node.since) + ": " +
         base::Printable(node.why);
}

std::string HowToForget(const std::string& address) {
  return "`autodist nodes --forget " + address + "`, once it is repaired";
}

// Leaves nodes out of a run. Removes the nodes of --exclude from the spec, and those that are
// remembered as faulty as far as spares or --min-nodes allow it; their number is taken from the
// spares of the request. Logs what it removes, and warns of faulty nodes that stay.
// kInvalidArgument: no such node, or none is left; with --health strict, kFailedPrecondition: a
// faulty node would stay.
Status LeaveOutNodes(const std::vector<std::string>& exclude, spec::ResourceSpec& spec,
                     v1::JobRequest& request) {
  AD_RETURN_IF_ERROR(ExcludeNodes(exclude, spec));
  if (request.health() == v1::HEALTH_OFF) return OkStatus();
  AD_ASSIGN_OR_RETURN(const auto faulty, control::ReadFaultyNodes());
  uint32_t dispensable = Dispensable(spec, request);
  for (const control::FaultyNode& one : faulty) {
    const auto node = std::ranges::find(spec.nodes, one.address, &spec::Node::address);
    if (node == spec.nodes.end()) continue;
    if (dispensable > 0 && !node->chief) {
      --dispensable;
      request.set_spares(request.spares() - std::min(request.spares(), 1u));
      spec.nodes.erase(node);
      base::Log(base::LogLevel::kWarning, TextOf(one) + "; this job does without it");
    } else if (request.health() == v1::HEALTH_STRICT) {
      return WithRemedy(
          Error(StatusCode::kFailedPrecondition, TextOf(one)),
          "leave it out with --exclude " + one.address + "; or " + HowToForget(one.address));
    } else {
      base::Log(base::LogLevel::kWarning, TextOf(one) + "; this job uses it");
      base::Log(base::LogLevel::kInfo, "to leave it out: --exclude " + one.address +
                                           "; to forget the fault: " + HowToForget(one.address));
    }
  }
  return OkStatus();
}

// How long a pod waits for a chief that still pulls its image; then Kubernetes recreates the pod.
constexpr std::chrono::seconds kCallPatience{3600};

// A job that is detached, or in the background of the shell, gets no terminal input.
chief::JobOptions::OwnInput OwnInputOf(const v1::JobRequest& request) {
  using OwnInput = chief::JobOptions::OwnInput;
  if (!request.has_stdin_rank() || request.detach()) return OwnInput::kNone;
  if (isatty(STDIN_FILENO) == 0) return OwnInput::kPipe;
  return chief::RawTerminal::IsOurs() ? OwnInput::kTerminal : OwnInput::kNone;
}

void SetStdin(plan::Input& input) {
  const bool piped = OwnInputOf(input.request) == chief::JobOptions::OwnInput::kPipe;
  const char* terminal = std::getenv("TERM");
  input.stdin_kind = piped ? v1::STDIN_KIND_PIPE : v1::STDIN_KIND_TERMINAL;
  input.terminal = terminal && *terminal ? terminal : "xterm";
}

// Returns a request with the nodes and the folder, by which `fetch` logs in after the end.
std::string NodesJson(const plan::Input& input) {
  v1::JobRequest request;
  request.set_spec_text(spec::SpecText(spec::WithoutEnvironments(input.spec)));
  request.set_node_source(static_cast<v1::NodeSource>(base::CurrentNodeSource()));
  request.set_workdir(input.working_directory);
  if (!input.request.agent().empty()) request.set_agent(input.request.agent());
  if (input.request.has_start_timeout()) request.set_start_timeout(input.request.start_timeout());
  return json::ToJson(request, json::Layout::kIndented).value_or("");
}

chief::JobOptions MakeJobOptions(const plan::Input& input) {
  chief::JobOptions job;
  job.launch.request = input.request;
  // A scheduler takes its nodes back at the end.
  if (!input.request.slurm() && !input.request.kubernetes()) {
    job.nodes = [input] { return NodesJson(input); };
  }
  job.log_folder = input.request.log_dir() + "/" + input.job_id;
  job.own_input = OwnInputOf(input.request);
  if (input.request.has_web() || input.request.has_metrics()) {
    job.start_views = [request = input.request, id = input.job_id,
                       folder = job.log_folder]() -> Result<chief::JobOptions::StatusListener> {
      AD_ASSIGN_OR_RETURN(std::shared_ptr<JobViews> views, JobViews::Start(request, id));
      return [views, folder](const v1::JobStatus&) { views->Announce(folder); };
    };
  }
  job.plan_attempt = [input](const plan::Replan& replan) {
    return chief::PlanAttempt(input, replan);
  };
  return job;
}

// Warns of limits that Slurm sets to the end of a job.
void WarnOfSlurm(const v1::JobRequest& request) {
  if (request.detach()) {
    base::Log(base::LogLevel::kWarning,
              "with --detach, Slurm ends the job when the shell or script of the allocation exits; "
              "`autodist attach last` waits for it");
  }
  const auto kill_wait = slurm::SlurmKillWait();
  if (!kill_wait.ok() || request.grace() <= static_cast<double>(kill_wait->count())) return;
  const std::chrono::milliseconds grace(static_cast<int64_t>(request.grace() * 1000));
  base::Log(base::LogLevel::kWarning, "ranks have at most " + base::Seconds(*kill_wait) +
                                          " to exit when Slurm ends the job (KillWait), not the " +
                                          base::Seconds(grace) + " of --grace");
}

// Runs in each pod except the chief's.
int Call(const std::string& agent, const kubernetes::KubernetesPod& pod) {
  base::Log(base::LogLevel::kInfo, pod.node + " connects to the chief, " + pod.chief_address);
  return Fail(kubernetes::BecomeCallbackClient(pod, agent, kCallPatience), kExitCannotLaunch);
}

// Null if nothing is copied.
Result<std::shared_ptr<transfer::FolderSync>> SyncOf(const v1::JobRequest& request,
                                                     const v1::LaunchPlan& plan, bool dry_run) {
  if (!request.sync()) return nullptr;
  const std::string& folder = plan.working_directory();
  // Chiefs may answer late, so they are asked only before files are replaced.
  const bool copies = !dry_run && std::ranges::any_of(plan.nodes(), [](const v1::NodePlan& node) {
    return !node.reach().has_local();
  });
  const auto running = copies ? RunningJobsIn(folder) : std::vector<v1::JobStatus>();
  if (request.sync_delete()) AD_RETURN_IF_ERROR(CheckNoneRuns(running));
  return transfer::SyncOfWorkingDirectory(
      plan, request, base::HomeFolder(), dry_run && request.sync_delete(),
      [folder] { return TimesOfJobsIn(folder); }, WarningsOfRunning(running, plan));
}

// Logs what --sync-delete would delete. Connects to the nodes and changes nothing in their folders.
Status Preview(const v1::LaunchPlan& plan, const v1::JobRequest& request,
               std::shared_ptr<transfer::FolderSync> sync) {
  launch::LaunchOptions launch;
  launch.request = request;
  launch.connector = slurm::ConnectorFor(plan, request.agent(), launch.lease());
  launch.sync = std::move(sync);
  return chief::VisitAllNodes(
      plan, std::move(launch), [&](const launch::LaunchedNode& node, const std::stop_token&) {
        if (node.status.ok()) return;
        base::LogFailure(
            Annotate(node.status, plan.nodes(static_cast<int>(node.node_rank)).address()));
      });
}

void LogSync(const transfer::FolderSync& sync) {
  base::Log(base::LogLevel::kInfo, "to sync: " + sync.WhatThereIs() + ", to " +
                                       base::Count(sync.nodes(), "node") +
                                       (sync.relays() ? ", through the first node" : ""));
}

// Checks for options that need or exclude each other.
Status CheckTogether(const RunOptions& options) {
  const v1::JobRequest& request = options.request;
  const auto wrong = [](const char* what) { return Error(StatusCode::kInvalidArgument, what); };
  if (request.program().empty()) {
    return wrong("no program; give it after '--': autodist run --spec cluster.yaml -- ./train");
  }
  const bool prints_json = request.json() && !options.dry_run;
  if (prints_json && (request.detach() || request.has_stdin_rank())) {
    return wrong("--json cannot be used with --detach or --stdin-rank");
  }
  if (options.verbose && !options.dry_run) return wrong("--verbose needs --dry-run");
  if (request.sync_delete() && !request.sync()) return wrong("--sync-delete needs --sync");
  if (options.show_env_values && !options.dry_run)
    return wrong("--show-env-values needs --dry-run");
  if (request.web_allow_actions() && !request.has_web())
    return wrong("--web-allow-actions needs --web");
  if (request.no_preflight() && request.has_on_busy()) {
    return wrong("--on-busy cannot be used with --no-preflight");
  }
  if (request.on_node_loss() == v1::ON_NODE_LOSS_STOP &&
      (request.spares() > 0 || request.min_nodes() > 0)) {
    return wrong("--on-node-loss stop cannot be used with --spares or --min-nodes");
  }
  return request.has_chief_on() ? CheckChiefOn(request, options.dry_run) : OkStatus();
}

int PrintPlan(const RunOptions& options, const v1::LaunchPlan& plan) {
  const bool json = options.request.json();
  const auto given =
      options.show_env_values ? plan::GivenValues::kShown : plan::GivenValues::kHidden;
  const bool summary = !json && !options.verbose && !options.show_env_values;
  const auto as_text = json ? plan::PlanAsJson : plan::PlanAsText;
  const std::string text = summary ? plan::PlanSummary(plan) : as_text(plan, given);
  // The spec may be another user's: do not let it send control characters to the terminal.
  std::fputs((isatty(STDOUT_FILENO) == 1 ? base::PrintableLines(text) : text).c_str(), stdout);
  return 0;
}

Result<plan::Input> InputOf(spec::ResourceSpec spec, const v1::JobRequest& request) {
  if (request.has_chief_on()) AD_RETURN_IF_ERROR(LeaveChiefOut(spec));
  const auto with_ranks = static_cast<size_t>(std::ranges::count_if(
      spec.nodes, [](const spec::Node& node) { return !node.devices().empty(); }));
  if (request.min_nodes() > with_ranks) {
    return Error(StatusCode::kInvalidArgument,
                 "--min-nodes " + std::to_string(request.min_nodes()) + ", but the job has " +
                     base::Count(with_ranks, "node"));
  }
  const uint32_t needed = std::max(request.min_nodes(), 1u);
  if (request.spares() > 0 && needed + request.spares() > with_ranks) {
    return Error(StatusCode::kInvalidArgument,
                 "--spares " + std::to_string(request.spares()) +
                     (request.min_nodes() > 0 ? " and --min-nodes " + std::to_string(needed) : "") +
                     ", but the job has " + base::Count(with_ranks, "node"));
  }
  AD_ASSIGN_OR_RETURN(plan::Input input, chief::InputOf(spec, request));
  SetStdin(input);
  return input;
}

// Returns the plan of the first attempt. `all`: the plan with the spares, as further nodes.
Result<v1::LaunchPlan> WithoutSpares(plan::Input input, const v1::LaunchPlan& all,
                                     uint32_t spares) {
  for (int i = 0; i < all.nodes_size() - static_cast<int>(spares); ++i) {
    input.members.push_back(all.nodes(i).address());
  }
  return plan::MakePlan(input);
}

Result<v1::JobRequest> RequestOf(const RunOptions& options) {
  AD_RETURN_IF_ERROR(CheckTogether(options));
  AD_RETURN_IF_ERROR(CheckStartedOnce());
  v1::JobRequest request = options.request;
  if (request.on_node_loss() == v1::ON_NODE_LOSS_SHRINK && request.min_nodes() == 0) {
    request.set_min_nodes(1);
  }
  return request;
}

int Run(const RunOptions& options) {
  auto asked = RequestOf(options);
  if (!asked.ok()) return Fail(asked.status(), kExitUsage);
  v1::JobRequest request = *std::move(asked);
  if (request.kubernetes()) {
    const auto pod = kubernetes::ThisPod();
    if (pod.ok() && !pod->chief) return Call(request.agent(), *pod);
  }
  auto spec = SpecOf(request);
  if (!spec) return kExitUsage;
  const Status left_out = LeaveOutNodes(options.exclude, *spec, request);
  if (!left_out.ok()) {
    return Fail(left_out,
                left_out.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitCannotLaunch);
  }
  const Status counted = CheckDevicesToStart(*spec, request);
  if (!counted.ok()) return Fail(counted, kExitCannotLaunch);
  const auto input = InputOf(*std::move(spec), request);
  auto plan = input.ok() ? plan::MakePlan(*input) : input.status();
  if (!plan.ok()) {
    return Fail(plan.status(), plan.status().code() == StatusCode::kInvalidArgument
                                   ? kExitUsage
                                   : kExitCannotLaunch);
  }
  std::optional<v1::LaunchPlan> without_spares;
  if (request.spares() > 0) {
    auto made = WithoutSpares(*input, *plan, request.spares());
    if (!made.ok()) return Fail(made.status(), kExitUsage);
    without_spares = *std::move(made);
  }
  const v1::LaunchPlan& first = without_spares ? *without_spares : *plan;
  const auto chief_node =
      request.has_chief_on() ? chief::NodeForChief(input->spec, *plan, request.chief_on()) : "";
  if (!chief_node.ok()) return Fail(chief_node.status(), kExitUsage);
  auto view = ViewOf(request.display(), chief::ProcessesOf(first));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  auto sync = SyncOf(request, *plan, options.dry_run);
  if (!sync.ok()) return Fail(sync.status(), kExitCannotLaunch);
  if (options.dry_run) {
    if (*sync) LogSync(**sync);
    if (*sync && request.sync_delete()) {
      const Status seen = Preview(*plan, request, *std::move(sync));
      if (!seen.ok()) return Fail(seen, kExitCannotLaunch);
    }
    return PrintPlan(options, first);
  }
  if (request.has_chief_on()) return RunFromNode(*input, *plan, *chief_node, *std::move(sync));
  if (request.slurm()) WarnOfSlurm(request);
  const Status here = reach::CheckChiefIsHere(*plan);
  if (!here.ok()) return Fail(here, kExitUsage);
  chief::JobOptions job = MakeJobOptions(*input);
  job.launch.connector = slurm::ConnectorFor(*plan, request.agent(), job.launch.lease());
  job.launch.sync = *std::move(sync);
  job.view = *std::move(view);
  job.view.json = request.json();
  if (job.own_input == chief::JobOptions::OwnInput::kTerminal)
    job.view.at_terminal = request.stdin_rank();
  return chief::RunJob(*plan, std::move(job));
}

}  // namespace

Command AddRun(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<RunOptions>();
  app.prefix_command();
  AddRunOptions(app, *options);
  app.footer(R"(
The program and its arguments follow '--' and reach every rank unchanged, except
for placeholders: {rank}, {local_rank}, {node_rank}, {world_size},
{local_world_size}, {node_count}, {master_addr} and {master_port}. Write {{rank}}
for a literal {rank}.

Examples:
  autodist run -- ./train
  autodist run --spec cluster.yaml -- python3 train.py --name 'two words'
  autodist run --hosts gpu1:4,gpu2:4 -- python3 train.py
  autodist run --spec cluster.yaml --framework paddle -- python3 train.py
  autodist run --spec cluster.yaml --per node -- torchrun train.py
  autodist run --spec cluster.yaml --per job -- mpirun -n 8 ./train
  autodist run --spec cluster.yaml --sync --fetch 'ckpt*' -- ./train
  autodist run --spec cluster.yaml --detach --name sweep-3 -- ./train
  autodist run --spec cluster.yaml --detach --chief-on first -- ./train
  autodist run --spec cluster.yaml --max-restarts 3 -- ./train
  autodist run --spec cluster.yaml --hang-timeout auto -- ./train
  autodist run --spec cluster.yaml --stdin-rank 0 -- python3 train.py
  autodist run --spec cluster.yaml --show 0,8-15 -- python3 train.py
  autodist run --spec cluster.yaml --web -- ./train
  autodist run --spec cluster.yaml --pass-env WANDB_API_KEY -- ./train
  autodist run --spec cluster.yaml --dry-run -- ./train

Ctrl-C stops all ranks, a second one kills them. SIGUSR1, SIGUSR2 and Ctrl-Z are
forwarded to all ranks. Ctrl-\ writes the stacks of all ranks to the log folder.)");
  return [options, &program] {
    *options->request.mutable_program() = {program.begin(), program.end()};
    return Run(*options);
  };
}

Command AddRunRequest(CLI::App& app) {
  auto file = std::make_shared<std::string>();
  app.add_option("FILE", *file)->required();
  return [file] {
    auto request = ReadRequest(*file);
    return request.ok() ? Run({.request = *std::move(request)})
                        : Fail(request.status(), kExitUsage);
  };
}

}  // namespace autodist::cli
