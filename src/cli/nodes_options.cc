#include "cli/nodes_options.h"

#include <unistd.h>

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/a_few_of.h"
#include "base/did_you_mean.h"
#include "base/duration.h"
#include "base/folder_entries.h"
#include "base/for_user.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/utf8.h"
#include "cli/field_option.h"
#include "cli/help_text.h"
#include "cli/other_launchers.h"
#include "cli/values.h"
#include "kubernetes/pods.h"
#include "plan/ssh_reach.h"
#include "reach/host_facts.h"
#include "reach/local_gpus.h"
#include "reach/name_service.h"
#include "reach/own_file.h"
#include "reach/resolve.h"
#include "reach/this_machine.h"
#include "slurm/allocation.h"
#include "slurm/ended_job.h"
#include "spec/host_list.h"
#include "spec/spec_draft.h"
#include "spec/yaml_reader.h"

namespace autodist::cli {
namespace {

constexpr char kSpecVariable[] = "AUTODIST_SPEC";
constexpr char kSpecHere[] = "autodist.yaml";
constexpr char kVisibleGpus[] = "CUDA_VISIBLE_DEVICES";

Status CheckOnlyOne(const v1::JobRequest& request) {
  const int given = (request.has_spec() ? 1 : 0) + (request.has_hosts() ? 1 : 0) +
                    (request.has_nproc_per_node() ? 1 : 0) + (request.slurm() ? 1 : 0) +
                    (request.kubernetes() ? 1 : 0);
  if (given < 2) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "--spec, --hosts, --slurm and -n are mutually exclusive"),
      request.hosts().empty() || !request.has_nproc_per_node()
          ? "give one of them"
          : "give one of them; for N ranks on a host: --hosts HOST:N");
}

void WarnOfVisible(const reach::VisibleGpus& visible) {
  if (!visible.warning.empty()) base::Log(base::LogLevel::kWarning, visible.warning);
  const auto is_mig = [](const std::string& uuid) { return uuid.starts_with("MIG-"); };
  if (std::ranges::count_if(visible.uuids, is_mig) < 2) return;
  base::Log(base::LogLevel::kWarning,
            "CUDA gives a process only the first MIG device of CUDA_VISIBLE_DEVICES: each rank "
            "must select its device by LOCAL_RANK before it uses CUDA");
}

Result<spec::ResourceSpec> ThisMachine(const v1::JobRequest& request,
                                       std::optional<uint32_t> ranks) {
  AD_ASSIGN_OR_RETURN(reach::LocalGpus found, reach::FindLocalGpus(plan::StartLimitOf(request)));
  std::vector<uint32_t>& gpus = found.visible.gpus;
  WarnOfVisible(found.visible);
  // With a given number of ranks, GPUs do not have to be counted. Without a driver, no rank can use
  // them.
  if (!found.uncounted.ok() && ranks) {
    if (!found.has_driver) found.none = Message(found.uncounted);
    gpus.resize(found.has_driver ? *ranks : 0);
    std::iota(gpus.begin(), gpus.end(), 0U);
    found.uncounted = OkStatus();
  }
  spec::ResourceSpec spec = spec::SingleNode(gpus);
  spec::Node& node = spec.nodes.front();
  node.gpu_uuids = found.visible.uuids;
  node.counted = found.uncounted;
  if (!ranks || found.asked_for || !found.has_driver) spec.no_gpu = found.none;
  if (!ranks) return spec;
  if (!gpus.empty() && gpus.size() < *ranks) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "-n " + std::to_string(*ranks) +
                                                ", but this machine has " +
                                                base::Count(gpus.size(), "GPU")),
        "to run on CPUs: CUDA_VISIBLE_DEVICES= autodist run -n " + std::to_string(*ranks));
  }
  if (!gpus.empty()) node.gpus.resize(*ranks);
  if (!node.gpu_uuids.empty()) node.gpu_uuids.resize(*ranks);
  node.cpus.resize(*ranks);
  std::iota(node.cpus.begin(), node.cpus.end(), 0U);
  return spec;
}

// Uses only the GPUs of CUDA_VISIBLE_DEVICES on this machine, unless its number of ranks is given.
Status UseVisibleGpus(const std::vector<spec::HostEntry>& hosts, std::chrono::milliseconds limit,
                      spec::ResourceSpec& spec) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    spec::Node& node = spec.nodes[i];
    if (!node.chief || hosts[i].slots || node.gpus.empty() || !std::getenv(kVisibleGpus)) continue;
    AD_ASSIGN_OR_RETURN(const reach::LocalGpus found, reach::FindLocalGpus(limit));
    WarnOfVisible(found.visible);
    spec.no_gpu = found.none;
    node.counted = OkStatus();  // the variable says which GPUs to use
    node.gpus = found.visible.gpus;
    node.gpu_uuids = found.visible.uuids;
  }
  return OkStatus();
}

// "no GPU found on h2, h3", of the hosts that answered; "" if all have GPUs.
std::string WithoutGpu(const spec::ResourceSpec& spec, const std::vector<spec::HostFacts>& facts) {
  constexpr size_t kMaxNamed = 4;
  std::vector<std::string> without;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].gpus == 0) without.push_back(spec.nodes[i].address);
  }
  if (without.empty()) return "";
  if (without.size() == facts.size()) return "no GPU found";
  return "no GPU found on " + (without.size() > kMaxNamed ? base::Count(without.size(), "node")
                                                          : absl::StrJoin(without, ", "));
}

// Logs the error and returns nullopt on failure.
std::optional<spec::ResourceSpec> Reported(Result<spec::ResourceSpec> spec) {
  if (spec.ok()) return *std::move(spec);
  base::LogFailure(spec.status());
  return std::nullopt;
}

std::optional<spec::ResourceSpec> SpecOfHosts(spec::HostList list, const v1::JobRequest& request,
                                              reach::AskHosts ask) {
  base::SetNodeSource(base::NodeSource::kHosts);
  for (const std::string& warning : list.warnings) base::Log(base::LogLevel::kWarning, warning);
  PrintIssues(list.issues);
  if (!list.issues.empty()) return std::nullopt;
  spec::SshGroup login;  // as ssh is configured
  if (request.has_host_key_check()) login.host_key_check = request.host_key_check();
  const auto user = reach::ThisUser();
  const reach::AskLimits limits{plan::StartLimitOf(request),
                                base::ToMilliseconds(request.wait_for_nodes())};
  const auto facts = user.ok() ? reach::FactsOf(list.hosts, login, *user, ask,
                                                reach::SameMachines::kRefuse, limits)
                               : user.status();
  if (!facts.ok()) return Reported(facts.status());
  spec::SpecDraft draft = spec::DraftSpec(list.hosts, *facts, login);
  for (const std::string& warning : draft.warnings) base::Log(base::LogLevel::kWarning, warning);
  const Status local = UseVisibleGpus(list.hosts, limits.each, draft.spec);
  if (!local.ok()) return Reported(local);
  const std::string without = WithoutGpu(draft.spec, *facts);
  const std::string between = without.empty() || draft.spec.no_gpu.empty() ? "" : "; ";
  draft.spec.no_gpu = without + between + draft.spec.no_gpu;
  return std::move(draft.spec);
}

// Warns before the logins, which fail once per node and without the line in the file.
void WarnOfMissingKeys(const std::vector<spec::KeyFile>& keys, const std::string& file) {
  for (const spec::KeyFile& key : keys) {
    const bool in_home = key.path == "~" || key.path.starts_with("~/");
    const std::string path = in_home ? reach::SshHomeFolder() + key.path.substr(1) : key.path;
    if (access(path.c_str(), R_OK) == 0) continue;
    const Status why = ErrnoError(errno, "key_file " + path);
    base::Log(base::LogLevel::kWarning,
              spec::Issue{file, key.where.line, key.where.column, Message(why)}.ToString());
  }
}

// Returns the file with the most similar name in the folder of a missing file, or "".
std::string NearestFile(const std::string& file) {
  const std::filesystem::path path(file);
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names = base::EntriesOf(folder);
  std::error_code error;
  std::erase_if(names, [&](const std::string& name) {
    return !std::filesystem::is_regular_file(folder / name, error);
  });
  const std::string near = base::Nearest(path.filename().string(), names);
  return near.empty() ? "" : std::filesystem::path(path).replace_filename(near).string();
}

// Prints the issues of the file and returns the spec if it is valid.
std::optional<spec::ResourceSpec> Reported(spec::ReadOutcome outcome, const std::string& file) {
  PrintIssues(outcome.issues);
  WarnOfMissingKeys(outcome.key_files, file);
  if (!outcome.spec && !file.empty() && access(file.c_str(), F_OK) != 0) {
    const std::string near = NearestFile(file);
    std::fprintf(stderr,
                 near.empty() ? "    hint: autodist init --hosts gpu1,gpu2 --output %s writes one\n"
                              : "    did you mean %s?\n",
                 base::Printable(near.empty() ? file : near).c_str());
  }
  return std::move(outcome.spec);
}

// Queries the machines in another program's file for their devices, as with --hosts.
std::optional<spec::ResourceSpec> SpecOrHosts(const std::string& file,
                                              const v1::JobRequest& request) {
  spec::ReadOutcome outcome = spec::ReadSpecFile(file);
  if (!outcome.foreign || !outcome.foreign->hosts) return Reported(std::move(outcome), file);
  base::Log(base::LogLevel::kInfo,
            file + " is " + outcome.foreign->kind + "; using its machines as with --hosts");
  return SpecOfHosts(*outcome.foreign->hosts, request, reach::AskHosts::kForLaunch);
}

// Begins each line of the text with this many spaces.
std::string Indented(const std::string& text, size_t spaces) {
  const std::string indent(spaces, ' ');
  return indent + absl::StrReplaceAll(text, {{"\n", "\n" + indent}});
}

// A spec can run programs, and this one is used in any folder in which autodist is started. A spec
// that --spec or the variable names is the user's choice: a group may share one that it can write.
Status CheckSpecHere() {
  Status checked = reach::CheckNoOthersWrite(kSpecHere);
  if (checked.ok()) return checked;
  return WithRemedy(
      Annotate(checked, std::string(kSpecHere) + " in this folder is not used"),
      std::string("a spec can run programs as your user; check it, then give --spec ") + kSpecHere +
          (Remedy(checked).empty() ? "" : ", or " + Remedy(checked)));
}

// Logs which spec it is. "": none.
Result<std::string> FindSpec() {
  AD_ASSIGN_OR_RETURN(std::string file, DefaultSpecFile());
  if (file.empty()) return file;
  base::Log(
      base::LogLevel::kInfo,
      "using spec " + file + (file == kSpecHere ? " in this folder" : " from $AUTODIST_SPEC"));
  return file;
}

// Points out a cluster.yaml, the name in all examples, which is not used by default.
void NameUnusedSpec() {
  constexpr char kUsual[] = "cluster.yaml";
  if (access(kUsual, R_OK) != 0 || !spec::ReadSpecFile(kUsual).spec) return;
  base::Log(base::LogLevel::kInfo, std::string(kUsual) +
                                       " in this folder is not used; to use it: --spec " + kUsual +
                                       ", or rename it to " + kSpecHere);
}

// torchrun's --nproc-per-node also accepts these words.
CLI::Validator NotTorchrunsWord() {
  return {[](const std::string& text) -> std::string {
            if (text != "gpu" && text != "auto") return "";
            return "leave it out: without a spec, autodist starts one rank per GPU";
          },
          ""};
}

// Warns of a Slurm allocation that is not used without --slurm.
void WarnOfAllocation() {
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  if (!nodes || std::string_view(nodes) == "1") return;
  base::Log(base::LogLevel::kWarning,
            "this shell is in a Slurm allocation of " + base::Printable(nodes) +
                " nodes and uses only this machine; --slurm uses all nodes");
}

std::optional<spec::ResourceSpec> ChosenSpec(const v1::JobRequest& request) {
  if (!request.slurm()) slurm::LeaveEndedJob();
  if (const Status status = CheckOnlyOne(request); !status.ok()) return Reported(status);
  if (request.has_hosts()) {
    WarnOfFile(request.hosts(), "--spec");
    return SpecOfHosts(spec::ParseHosts(request.hosts()), request, reach::AskHosts::kForLaunch);
  }
  using base::NodeSource;
  if (request.slurm() || request.kubernetes()) base::SetNodeSource(NodeSource::kAllocation);
  if (request.slurm()) {
    const Status once = CheckStartedOnce();
    return Reported(once.ok() ? slurm::SlurmAllocation() : once);
  }
  if (request.kubernetes()) {
    const auto pod = kubernetes::ThisPod();
    return Reported(pod.ok() ? kubernetes::KubernetesPods(*pod) : pod.status());
  }
  if (request.has_spec_text()) {
    base::SetNodeSource(static_cast<NodeSource>(request.node_source()));
    return Reported(spec::ReadSpec(request.spec_text(), "the spec"), "");
  }
  if (request.has_spec()) return SpecOrHosts(request.spec(), request);
  std::optional<uint32_t> ranks;
  if (request.has_nproc_per_node()) ranks = request.nproc_per_node();
  const auto found = ranks ? std::string() : FindSpec();
  if (!found.ok()) return Reported(found.status());
  if (!found->empty()) return ReadSpec(*found);
  if (!ranks) {
    WarnOfAllocation();
    NameUnusedSpec();
  }
  base::SetNodeSource(NodeSource::kHere);
  return Reported(ThisMachine(request, ranks));
}

// "choose among a, b and 7 others"; "": none.
std::string NodesText(const spec::ResourceSpec& spec) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> addresses;
  addresses.reserve(spec.nodes.size());
  for (const spec::Node& node : spec.nodes) addresses.push_back(node.address);
  return addresses.empty() ? "" : "choose among " + base::AFewOf(addresses, kNamed);
}

}  // namespace

void AddNodes(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kNodes, "--spec",
           "Resource spec; default: $AUTODIST_SPEC, autodist.yaml in this folder, or else this "
           "machine with one rank per GPU")
      ->check(NotEmpty("FILE"));
  AddField(app, request, group::kNodes, "--hosts",
           "Hosts instead of a spec: HOST[:N],... or gpu[01-16], with N ranks each; default: one "
           "per GPU")
      ->check(NotEmpty("HOSTS"));
  AddHostKeyCheck(app, request, group::kNodes);
  AddField(app, request, group::kNodes, "--slurm",
           "Use the Slurm allocation of this process (sbatch, salloc) instead of a spec");
  AddField(app, request, group::kNodes, "-n,--nproc-per-node",
           "Use N ranks on this machine instead of a spec")
      ->check(NotTorchrunsWord())
      ->check(WholeNumber(1, spec::kMaxSlots));
}

void AddHostKeyCheck(CLI::App& app, v1::JobRequest& request, const std::string& group) {
  AddField(app, request, group, "--host-key-check",
           "For unknown host keys: refuse (strict), record and accept (accept-new), or accept all "
           "(off)")
      ->default_str("as the spec says, or else as ssh is configured");
}

void AddKubernetes(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kNodes, "--kubernetes",
           "Use the pods of this process's JobSet (set by `autodist submit`)");
}

void AddExclude(CLI::App& app, std::vector<std::string>& addresses) {
  app.add_option("--exclude", addresses, "Leave these nodes of the spec out")
      ->delimiter(',')
      ->check(NotEmpty("NODES"))
      ->group(group::kNodes);
}

void AddAgent(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kAdvanced, "--agent",
           "Agent program for the nodes; default: the built-in one")
      ->type_name("FILE");
}

void AddPatience(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kNodes, "--start-timeout",
           "Max time for a login, for its shell to start the agent, for GPUs to be counted, and "
           "for python_venv to finish: 90, 20m, 1h; default: 60 s each, and 10 minutes")
      ->transform(Duration(0));
  AddField(app, request, group::kNodes, "--wait-for-nodes",
           "Retry nodes that do not answer or refuse connections for this time, for example while "
           "they boot: 90, 10m, 1h; default: 0")
      ->transform(Duration(0));
}

void AddFanOut(CLI::App& app, v1::JobRequest& request) {
  AddField(app, request, group::kAdvanced, "--fan-out",
           "Max number of nodes to connect to at the same time")
      ->check(WholeNumber(1, 4096));
}

std::optional<spec::ResourceSpec> SpecOf(const v1::JobRequest& request) {
  auto spec = ChosenSpec(request);
  if (!spec || !request.has_host_key_check()) return spec;
  for (auto& [name, login] : spec->ssh) login.host_key_check = request.host_key_check();
  return spec;
}

std::optional<spec::ResourceSpec> SpecOfAddresses(const std::vector<std::string>& addresses) {
  const auto add = [](std::string* hosts, const std::string& address) {
    *hosts += address.find(':') == std::string::npos ? address : "[" + address + "]";
  };
  const std::string hosts = absl::StrJoin(addresses, ",", add);
  return SpecOfHosts(spec::ParseHosts(hosts), {}, reach::AskHosts::kNo);
}

Status ExcludeNodes(const std::vector<std::string>& addresses, spec::ResourceSpec& spec) {
  for (const std::string& address : addresses) {
    const size_t removed =
        std::erase_if(spec.nodes, [&](const spec::Node& node) { return node.address == address; });
    if (removed > 0) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument, "--exclude " + address + ": no node has that address"),
        NodesText(spec));
  }
  if (!spec.nodes.empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument, "--exclude leaves no node");
}

void WarnOfFile(const std::string& hosts, const std::string& option) {
  std::error_code error;
  const bool is_host = hosts.find('/') == std::string::npos;  // or the list is refused
  if (!is_host || !std::filesystem::is_regular_file(hosts, error)) return;
  base::Log(base::LogLevel::kWarning, "--hosts " + hosts +
                                          " means the host of this name; for the hosts in the file "
                                          "of this name: " +
                                          option + " " + hosts);
}

Result<std::string> DefaultSpecFile() {
  const char* const named = std::getenv(kSpecVariable);
  if (named && *named) return std::string(named);
  if (access(kSpecHere, F_OK) != 0) return std::string();
  AD_RETURN_IF_ERROR(CheckSpecHere());
  return std::string(kSpecHere);
}

std::optional<spec::ResourceSpec> SpecFileOf(const std::string& file) {
  const auto found = file.empty() ? DefaultSpecFile() : file;
  if (!found.ok()) return Reported(found.status());
  return found->empty() ? spec::ResourceSpec() : ReadSpec(*found);
}

void PrintIssues(const std::vector<spec::Issue>& issues) {
  for (const spec::Issue& issue : issues) {
    const std::string text = base::PrintableLines(issue.ToString());
    if (issue.line == 0) {
      base::Log(base::LogLevel::kError, text);  // not about a line of the file
    } else {
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }
}

std::optional<spec::ResourceSpec> ReadSpec(const std::string& file) {
  return Reported(spec::ReadSpecFile(file), file);
}

std::string SizeOf(const spec::ResourceSpec& spec) {
  size_t ranks = 0;
  for (const spec::Node& node : spec.nodes) ranks += node.devices().size();
  return base::Count(spec.nodes.size(), "node") + ", " + base::Count(ranks, "rank");
}

Status CheckDevicesCounted(const spec::ResourceSpec& spec, const std::string& consequence,
                           const std::string& remedy) {
  // The reason, and the nodes that have it, in order.
  std::vector<std::pair<std::string, std::vector<std::string>>> uncounted;
  size_t count = 0;
  for (const spec::Node& node : spec.nodes) {
    if (node.counted.ok()) continue;
    ++count;
    const std::string hint = Remedy(node.counted);
    const std::string why = Indented(Message(node.counted), 4) +
                            (hint.empty() ? "" : "\n" + Indented("hint: " + hint, 6));
    auto same = std::ranges::find(uncounted, why, [](const auto& one) { return one.first; });
    if (same == uncounted.end()) same = uncounted.insert(same, {why, {}});
    same->second.push_back(node.address);
  }
  if (count == 0) return OkStatus();
  std::string text = consequence + ", because " +
                     (spec.nodes.size() == 1 ? "the node"
                                             : std::to_string(count) + " of " +
                                                   base::Count(spec.nodes.size(), "node")) +
                     " did not report the devices:";
  for (const auto& [why, nodes] : uncounted) {
    text += "\n  " + absl::StrJoin(nodes, ", ") + ":\n" + why;
  }
  return WithRemedy(Error(StatusCode::kFailedPrecondition, text), remedy);
}

Status CheckDevicesToStart(const spec::ResourceSpec& spec, const v1::JobRequest& request) {
  std::set<std::string> uncounted;
  for (const spec::Node& node : spec.nodes) {
    // A number does not help to reach a node.
    if (node.counted.ok() || !node.reached) continue;
    uncounted.insert(node.given.empty() ? node.address : node.given);
  }
  const auto needs_number = [&](const std::string& host) { return uncounted.contains(host); };
  std::string hint;
  if (!uncounted.empty()) {
    hint = "correct that, or give the number of ranks: ";
    if (request.has_hosts()) {
      hint += "--hosts " + base::ShellQuote(spec::WithPlaceholders(request.hosts(), needs_number));
    } else if (request.has_spec()) {
      hint += "in " + request.spec();
    } else {
      hint += "-n N; for ranks on CPUs, set CUDA_VISIBLE_DEVICES=";
    }
  }
  return CheckDevicesCounted(spec, "no rank was started", hint);
}

}  // namespace autodist::cli
