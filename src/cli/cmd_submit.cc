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

// The scheduler says which nodes there are, and such a job has no terminal.
void RemoveOthers(CLI::App& app) {
  const auto& fields = *v1::JobRequest::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    if (MayTravel(*fields.field(i), v1::TRAVELS_INTO_BATCH_JOB)) continue;
    app.remove_option(app.get_option(OptionName(*fields.field(i))));
  }
}

// Of the pods.
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
    return wrong("submit needs to know the scheduler: --slurm or --kubernetes");
  }
  if (job.program().empty()) {
    return wrong(
        "no program; it comes after the options: autodist submit --slurm --nodes 4 -- ./train");
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

// Each scheduler's own options go with it alone.
void Bind(CLI::App& app, const char* scheduler, const char* group, const char* purpose) {
  CLI::Option* chosen = app.get_option(scheduler);
  chosen->description(purpose)->group(group::kResources);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_group() == group) option->needs(chosen);
  }
}

void AddSharedOptions(CLI::App& app, SubmitOptions& options) {
  app.add_option("--nodes", options.nodes, "How many machines, or pods")
      ->check(WholeNumber(1, kMaxMachines))
      ->capture_default_str()
      ->group(group::kResources);
  app.add_option("--gpus-per-node", options.gpus,
                 "GPUs of each, a rank for each: 8, or in Slurm a100:8 for a type")
      ->check(NotEmpty("N"))
      ->group(group::kResources);
  app.add_option("--ntasks-per-node", options.ranks, "Ranks on each where there are no GPUs")
      ->check(WholeNumber(1, spec::kMaxSlots))
      ->group(group::kResources);
  app.add_flag("--print", options.print, "Only show the batch script, or the manifest")
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
  Bind(app, "--slurm", group::kSlurm, "To Slurm, by sbatch");
  Bind(app, "--kubernetes", group::kKubernetes, "To Kubernetes, by kubectl");
  app.footer(R"(
Hands the job to a scheduler: to Slurm as a batch script, by sbatch; to Kubernetes as a JobSet, by kubectl.
In it `autodist run` has the scheduler's nodes. All options of `run` that tell how to run go into it, but
for those that say where.

In Kubernetes the image has autodist, by this line of its Dockerfile, or --autodist-image:
  COPY autodist /usr/local/bin/

Examples:
  autodist submit --slurm --nodes 4 --gpus-per-node 8 --time 12:00:00 -- python train.py
  autodist submit --slurm --nodes 4 --gpus-per-node a100:4 --partition long --max-restarts 3 -- ./train
  autodist submit --slurm --nodes 2 --ntasks-per-node 16 -- ./train           ranks on CPUs
  autodist submit --slurm --nodes 2 --gpus-per-node 8 --time 60 --signal USR1@120 -- ./train
  autodist submit --slurm --nodes 2 --sbatch=--exclusive --sbatch=--requeue -- ./train
  autodist submit --slurm --nodes 2 --print -- ./train                        only show the script
  autodist submit --kubernetes --image lab/train:1 --nodes 4 --gpus-per-node 8 -- python train.py
  autodist submit --kubernetes --image lab/train:1 --nodes 2 --volume data:/data:ro -- ./train
  autodist submit --kubernetes --image lab/train:1 --print -- ./train | kubectl apply -f -)");
  return [options, &program] {
    *options->request.mutable_program() = {program.begin(), program.end()};
    return Submit(*options);
  };
}

}  // namespace autodist::cli
