// autodist submit (--slurm | --kubernetes) [options] -- PROGRAM [ARGUMENTS]
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/parse_number.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/run_options.h"
#include "cli/submit_kubernetes.h"
#include "cli/submit_slurm.h"
#include "cli/values.h"
#include "json/proto_json.h"
#include "secure/key.h"
#include "spec/host_list.h"

namespace autodist::cli {
namespace {

constexpr uint32_t kMaxMachines = 100'000;

struct SubmitOptions {
  uint32_t nodes = 1;
  std::string gpus;
  uint32_t ranks = 0;
  bool print = false;
  slurm::SlurmRequest slurm;
  KubernetesOptions kubernetes;
  v1::JobRequest request;
};

// Removes options that a batch job cannot use: the scheduler selects the nodes, and there is no
// terminal.
void RemoveOthers(CLI::App& app) {
  const auto& fields = *v1::JobRequest::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    if (MayTravel(*fields.field(i), v1::TRAVELS_INTO_BATCH_JOB)) continue;
    app.remove_option(app.get_option(OptionName(*fields.field(i))));
  }
}

// Returns the key line of each pod.
std::map<std::string, std::string> KeysOf(uint32_t nodes) {
  const secure::Key job_key = secure::Key::Random();
  std::map<std::string, std::string> keys = {{"chief", secure::JobKeyLine(job_key)}};
  for (uint32_t worker = 0; worker + 1 < nodes; ++worker) {
    const std::string node = "worker-" + std::to_string(worker);
    keys[node] = secure::NodeKeyLine(job_key.ForNode(node));
  }
  return keys;
}

int Submit(SubmitOptions& options) {
  const auto wrong = [](const std::string& what) {
    return Fail(Error(StatusCode::kInvalidArgument, what), kExitUsage);
  };
  const v1::JobRequest& job = options.request;
  if (job.slurm() == job.kubernetes()) {
    return wrong("no scheduler: give --slurm or --kubernetes");
  }
  if (job.program().empty()) {
    return wrong("no program; give it after '--': autodist submit --slurm --nodes 4 -- ./train");
  }
  const auto json = json::ToJson(job, json::Layout::kIndented);
  if (!json.ok()) return Fail(json.status(), kExitUsage);
  if (job.slurm()) {
    options.slurm.name = job.name();
    options.slurm.nodes = options.nodes;
    options.slurm.gpus = options.gpus;
    options.slurm.ranks = options.ranks;
    return SubmitToSlurm(options.slurm, *json, options.print);
  }
  kubernetes::KubernetesRequest& request = options.kubernetes.request;
  request.name = kubernetes::ObjectName(job.name());
  if (options.nodes > kubernetes::kMaxPods) {
    return wrong("--nodes: at most " + std::to_string(kubernetes::kMaxPods) +
                 " pods with --kubernetes");
  }
  request.nodes = options.nodes;
  request.keys = KeysOf(options.nodes);
  request.ranks = options.ranks;
  request.job = *json;
  if (!options.gpus.empty()) {
    const std::string why = WholeNumber(1, spec::kMaxSlots)(options.gpus);
    if (!why.empty()) return wrong("--gpus-per-node: " + why);
    request.gpus = base::ParseNumber<uint32_t>(options.gpus).value_or(0);
  }
  request.grace = std::chrono::seconds(std::llround(std::ceil(job.grace())));
  return SubmitToKubernetes(options.kubernetes, options.print);
}

// Makes the options of the group require their scheduler.
void Bind(CLI::App& app, const char* scheduler, const char* group, const char* purpose) {
  CLI::Option* chosen = app.get_option(scheduler);
  chosen->description(purpose)->group(group::kResources);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group() == group) option->needs(chosen);
  }
}

void AddSharedOptions(CLI::App& app, SubmitOptions& options) {
  app.add_option("--nodes", options.nodes, "Number of machines or pods")
      ->check(WholeNumber(1, kMaxMachines))
      ->capture_default_str()
      ->group(group::kResources);
  app.add_option("--gpus-per-node", options.gpus,
                 "GPUs of each node, with one rank each: 8, or for Slurm a100:8")
      ->check(NotEmpty("N"))
      ->group(group::kResources);
  app.add_option("--ntasks-per-node", options.ranks, "Ranks on each node without GPUs")
      ->check(WholeNumber(1, spec::kMaxSlots))
      ->group(group::kResources);
  app.add_flag("--print", options.print, "Print the batch script or manifest and submit nothing")
      ->group(group::kResources);
}

}  // namespace

Command AddSubmit(CLI::App& app, const std::vector<std::string>& program) {
  auto options = std::make_shared<SubmitOptions>();
  app.prefix_command();
  AddSharedOptions(app, *options);
  AddSlurmOptions(app, options->slurm);
  AddKubernetesOptions(app, options->kubernetes);
  AddRequest(app, options->request);
  RemoveOthers(app);
  Bind(app, "--slurm", group::kSlurm, "Submit to Slurm with sbatch");
  Bind(app, "--kubernetes", group::kKubernetes, "Submit to Kubernetes with kubectl");
  app.footer(R"(
Submits the job: to Slurm as a batch script with sbatch, to Kubernetes as a JobSet
with kubectl. `autodist run` then starts on the allocated nodes. All options of
`run` apply, except for those that name nodes.

For Kubernetes the image must contain autodist; use --autodist-image, or this line
in its Dockerfile:
  COPY autodist /usr/local/bin/

Examples:
  autodist submit --slurm --nodes 4 --gpus-per-node 8 -- python3 train.py
  autodist submit --slurm --nodes 4 --gpus-per-node a100:4 -- ./train
  autodist submit --slurm --nodes 2 --ntasks-per-node 16 -- ./train
  autodist submit --slurm --time 60 --signal USR1@120 -- ./train
  autodist submit --slurm --sbatch=--exclusive --sbatch=--requeue -- ./train
  autodist submit --slurm --nodes 2 --print -- ./train
  autodist submit --kubernetes --image lab/train:1 --nodes 4 -- ./train
  autodist submit --kubernetes --image lab/train:1 --volume d:/data -- ./train
  autodist submit --kubernetes --image lab/train:1 --print -- ./train)");
  return [options, &program] {
    *options->request.mutable_program() = {program.begin(), program.end()};
    return Submit(*options);
  };
}

}  // namespace autodist::cli
