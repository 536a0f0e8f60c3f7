// autodist submit (--slurm | --kubernetes) [options] -- PROGRAM [ARGUMENTS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/parse_number.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "cli/app.h"
#include "cli/commands.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "control/submissions.h"
#include "exec/exec.h"
#include "json/proto_json.h"
#include "kubernetes/manifest.h"
#include "secure/key.h"
#include "slurm/batch_script.h"
#include "slurm/ended_job.h"
#include "spec/host_list.h"
#include "transport/hand_over.h"

namespace autodist::cli {
namespace {

// autodist submit --kubernetes
struct KubernetesOptions {
  kubernetes::KubernetesRequest request;
  std::string kube_context;  // of kubectl's configuration; "": the current one
  std::string kube_namespace;
};

constexpr std::chrono::seconds kKubectlLimit{60};  // for a distant or busy API server

CLI::Validator Quantity() {
  return {[](const std::string& text) -> std::string {
            const size_t unit = text.find_first_not_of("0123456789.");
            if (unit != 0 && !text.empty() && text.size() - std::min(unit, text.size()) <= 2)
              return "";
            return "'" + text + "' is not a Kubernetes quantity, such as 16, 500m or 64Gi";
          },
          ""};
}

std::vector<std::string> Kubectl(const KubernetesOptions& options,
                                 const std::vector<std::string>& more) {
  std::vector<std::string> argv = {"kubectl"};
  if (!options.kube_context.empty()) argv.push_back("--context=" + options.kube_context);
  if (!options.kube_namespace.empty()) argv.push_back("--namespace=" + options.kube_namespace);
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

// Removes the first part if the second fails: half of a job would wait forever.
Status CreateBoth(const KubernetesOptions& options) {
  const kubernetes::KubernetesRequest& request = options.request;
  const auto kubectl = [&](const std::vector<std::string>& more) { return Kubectl(options, more); };
  auto uid = transport::HandOver(kubectl({"create", "-f", "-", "-o", "jsonpath={.metadata.uid}"}),
                                 kubernetes::JobSetManifest(request), kKubectlLimit);
  if (!uid.ok()) {
    return WithRemedy(Annotate(uid.status(), "kubectl create"),
                      "--print shows the manifest; the cluster needs JobSet: "
                      "https://jobset.sigs.k8s.io/docs/installation");
  }
  const auto rest = transport::HandOver(
      kubectl({"create", "-f", "-"}), kubernetes::CompanionsManifest(request, *uid), kKubectlLimit);
  if (rest.ok()) return OkStatus();
  const auto gone = transport::HandOver(kubectl({"delete", "jobset", request.name, "--wait=false"}),
                                        "", kKubectlLimit);
  return WithRemedy(Annotate(rest.status(), "kubectl create"),
                    gone.ok() ? "the job was removed again; check that you may create Secrets and "
                                "NetworkPolicies in this namespace"
                              : base::ShellLine(kubectl({"delete", "jobset", request.name})));
}

// Adds the options of group::kKubernetes. `options` must outlive the parsing.
void AddKubernetesOptions(CLI::App& app, KubernetesOptions& options) {
  kubernetes::KubernetesRequest& request = options.request;
  const auto add = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->check(NotEmpty())->group(group::kKubernetes);
  };
  add("--image", request.image,
      "Image of the pods; contains autodist, unless --autodist-image is given")
      ->type_name("IMAGE");
  add("--autodist-image", request.autodist_image,
      "Image with sh, cp and autodist; autodist is copied from it into the pods")
      ->type_name("IMAGE");
  add("--cpus", request.cpus, "CPUs of each node: 16, 500m")->check(Quantity())->type_name("N");
  add("--memory", request.memory, "Memory of each node: 64Gi")
      ->check(Quantity())
      ->type_name("SIZE");
  app.add_option_function<std::vector<std::string>>(
         "--volume",
         [&request](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             if (auto volume = kubernetes::ParseVolume(text); volume.ok())
               request.volumes.push_back(*volume);
           }
         },
         "Mount a persistent volume claim: data:/data or data:/data:ro; repeatable")
      ->check(ParsedBy(kubernetes::ParseVolume, "VOLUME"))
      ->allow_extra_args(false)
      ->group(group::kKubernetes);
  add("--env-from", request.env_from, "Set variables from the entries of a Secret; repeatable")
      ->allow_extra_args(false)
      ->type_name("SECRET");
  add("--pull-secret", request.pull_secret, "Secret for the image registry")->type_name("SECRET");
  add("--namespace", options.kube_namespace, "Namespace of the job; default: that of kubectl")
      ->type_name("NAMESPACE");
  add("--context", options.kube_context, "kubectl context; default: the current one")
      ->type_name("CONTEXT");
}

// Prints the manifest, or creates its objects with kubectl. Returns the exit code.
int SubmitToKubernetes(const KubernetesOptions& options, bool print) {
  const kubernetes::KubernetesRequest& request = options.request;
  if (request.image.empty()) {
    return Fail(
        WithRemedy(Error(StatusCode::kInvalidArgument, "no image for the pods"),
                   "give --image NAME, an image with your program and autodist; if it has no "
                   "autodist, add --autodist-image"),
        kExitUsage);
  }
  if (print) {
    const std::string all =
        kubernetes::CompanionsManifest(request, "") + "---\n" + kubernetes::JobSetManifest(request);
    std::fputs(all.c_str(), stdout);
    return 0;
  }
  Status created = exec::CheckKubectl();
  if (created.ok()) created = CreateBoth(options);
  if (!created.ok()) return Fail(created, 1);
  base::Log(
      base::LogLevel::kInfo,
      "submitted as JobSet " + request.name + "; " +
          base::ShellLine(Kubectl(options, {"logs", "-f", "job/" + request.name + "-chief-0"})) +
          " shows its output, " +
          base::ShellLine(Kubectl(options, {"delete", "jobset", request.name})) + " ends it");
  std::printf("%s\n", request.name.c_str());
  return 0;
}

constexpr std::chrono::seconds kSubmitLimit{60};  // a busy slurmctld makes sbatch wait

// Rejects characters that would end or split the option in a line of the batch script.
CLI::Validator SbatchWord() {
  return {[](const std::string& text) -> std::string {
            const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
              return std::isgraph(c) && c != '"' && c != '\'' && c != '\\' && c != '#';
            });
            return plain ? ""
                         : "'" + text +
                               "' cannot be used in a batch script: no spaces, quotes, # or \\";
          },
          ""};
}

CLI::Validator SbatchOption() {
  return {[](const std::string& text) -> std::string {
            if (text.starts_with("--") && text.size() > 2) return "";
            return "'" + text + "' is not a long option of sbatch, such as --constraint=a100";
          },
          ""};
}

// Adds the options of group::kSlurm. `request` must outlive the parsing.
void AddSlurmOptions(CLI::App& app, slurm::SlurmRequest& request) {
  const auto add = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->check(SbatchWord())->group(group::kSlurm);
  };
  add("--time", request.time, "Time limit of the job: 30 (minutes), 2:00:00, 1-12")
      ->type_name("TIME");
  add("--signal", request.signal,
      "Send a signal to all ranks before the time limit: USR1@120 is 120 s before")
      ->type_name("SIGNAL@SECONDS");
  add("--partition", request.partition, "Slurm partition")->type_name("PARTITION");
  add("--account", request.account, "Slurm account")->type_name("ACCOUNT");
  add("--sbatch", request.others,
      "Another option for sbatch, such as --constraint=a100; repeatable")
      ->check(SbatchOption())
      ->allow_extra_args(false)
      ->type_name("OPTION");
}

// `output`: what sbatch printed, "NUMBER" or "NUMBER;CLUSTER".
v1::JobNote SubmissionOf(const v1::JobRequest& job, const std::string& output) {
  v1::JobNote note;
  const std::string line = output.substr(0, output.find('\n'));
  const size_t end = std::min(line.find(';'), line.size());
  note.set_slurm_job(line.substr(0, end));
  note.set_slurm_cluster(end < line.size() ? line.substr(end + 1) : slurm::ThisCluster());
  std::error_code error;
  note.mutable_job()->set_name(job.name());
  *note.mutable_job()->mutable_command() = job.program();
  note.mutable_job()->set_working_directory(std::filesystem::current_path(error));
  note.mutable_job()->set_started_ms(base::MillisecondsSince1970());
  return note;
}

// Prints the script of the job or submits it with sbatch. Returns the exit code.
int SubmitToSlurm(const slurm::SlurmRequest& request, const v1::JobRequest& job, bool print) {
  const auto json = json::ToJson(job, json::Layout::kIndented);
  if (!json.ok()) return Fail(json.status(), kExitUsage);
  if (const std::string why = SbatchWord()(request.gpus); !request.gpus.empty() && !why.empty()) {
    return Fail(Error(StatusCode::kInvalidArgument, "--gpus-per-node: " + why), kExitUsage);
  }
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string script = slurm::SlurmScript(request, error ? "autodist" : self.string(), *json);
  if (print) {
    std::fputs(script.c_str(), stdout);
    return 0;
  }
  const auto said = transport::HandOver({"sbatch", "--parsable"}, script, kSubmitLimit);
  if (!said.ok()) {
    return Fail(WithRemedy(Annotate(said.status(), "sbatch refused the script"),
                           "--print shows the script"),
                1);
  }
  const v1::JobNote submission = SubmissionOf(job, *said);
  const std::string number = base::Printable(submission.slurm_job());
  const Status recorded = control::RecordSubmission(submission);
  if (!recorded.ok()) {
    base::LogFailure(Annotate(recorded, "this machine keeps no note of Slurm job " + number));
  }
  const std::string where = slurm::WhereItWrites(request, number, std::getenv);
  base::Log(base::LogLevel::kInfo,
            "submitted as Slurm job " + number + (where.empty() ? "" : "; " + where) +
                "; squeue --jobs=" + number +
                " shows its state, `autodist attach` its output once it runs, scancel " + number +
                " ends it");
  std::printf("%s\n", number.c_str());
  return 0;
}

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
  if (job.slurm() && job.kubernetes()) {
    return wrong("--slurm and --kubernetes are mutually exclusive");
  }
  if (!job.slurm() && !job.kubernetes()) {
    return wrong("no scheduler: give --slurm or --kubernetes");
  }
  if (job.program().empty()) {
    return wrong("no program; give it after '--': autodist submit --slurm --nodes 4 -- ./train");
  }
  if (job.slurm()) {
    options.slurm.name = job.name();
    options.slurm.nodes = options.nodes;
    options.slurm.gpus = options.gpus;
    options.slurm.ranks = options.ranks;
    return SubmitToSlurm(options.slurm, job, options.print);
  }
  const auto json = json::ToJson(job, json::Layout::kIndented);
  if (!json.ok()) return Fail(json.status(), kExitUsage);
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
  app.add_flag("--detach")->group("");  // hidden: a submitted job has no terminal
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
