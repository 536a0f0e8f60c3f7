#include "spec/foreign_file.h"

#include <algorithm>
#include <array>

#include "base/shell_quote.h"
#include "base/utf8.h"
#include "spec/address.h"
#include "spec/foreign_hosts.h"
#include "spec/hostfile.h"
#include "spec/hostfile_form.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/text_check.h"
#include "spec/yaml_tree.h"

namespace autodist::spec {
namespace {

using Found = std::optional<ForeignFile>;

ForeignFile NamesNone(std::string kind, std::string advice) {
  return {std::move(kind), std::nullopt, std::move(advice)};
}

std::string InitFrom(const std::string& file) {
  return "autodist init --from " + base::Printable(base::ShellQuote(file)) +
         " --output cluster.yaml";
}

Found Accelerate(YamlView root, const std::string& file) {
  if (!root.Has("compute_environment") && !root.Has("distributed_type")) return std::nullopt;
  const char* kind = "an accelerate config";
  const std::string hostfile = root["deepspeed_config"]["deepspeed_hostfile"].text();
  if (!hostfile.empty()) {
    return NamesNone(kind, "its machines are in its deepspeed_hostfile: " + InitFrom(hostfile) +
                               " makes a spec of them");
  }
  const uint32_t machines = ReadWholeNumber(root["num_machines"].text(), kMaxSlots).value_or(1);
  if (machines < 2) return ForeignFile{kind, HostsOfAccelerate(root, file)};
  const uint32_t ranks = ReadWholeNumber(root["num_processes"].text(), kMaxSlots).value_or(0);
  const std::string each = ranks < machines ? "" : ":" + std::to_string(ranks / machines);
  const std::string first = root["main_process_ip"].text();
  return NamesNone(kind, "it names only the first of " + std::to_string(machines) +
                             " machines; 'autodist init --hosts " +
                             (CheckHost(first).ok() ? first : "HOST1") + each + ",HOST2" + each +
                             " --output cluster.yaml' makes a spec of all");
}

Found DeepSpeed(YamlView root, const std::string&) {
  const bool right = root.Has("train_batch_size") || root.Has("zero_optimization") ||
                     root.Has("train_micro_batch_size_per_gpu");
  if (!right) return std::nullopt;
  return NamesNone("a DeepSpeed configuration",
                   "it names no machines and stays an argument of the program; they are in "
                   "DeepSpeed's hostfile: autodist init --from HOSTFILE --output cluster.yaml");
}

Found Ray(YamlView root, const std::string& file) {
  const bool right =
      root.Has("cluster_name") && (root.Has("provider") || root.Has("available_node_types"));
  if (!right) return std::nullopt;
  if (root["provider"].Has("head_ip")) {
    return ForeignFile{"a Ray cluster configuration", HostsOfRay(root, file)};
  }
  const std::string quoted = base::Printable(base::ShellQuote(file));
  return NamesNone("a Ray cluster configuration",
                   "its machines are made by `ray up`; then: (ray get-head-ip " + quoted +
                       "; ray get-worker-ips " + quoted +
                       ") > hosts; autodist init --from hosts --output cluster.yaml");
}

bool IsSkyPool(YamlView root) {
  bool right = root.IsMapping();
  bool any = false;
  root.ForEachEntry([&](const std::string&, YamlView pool) {
    const YamlView first = pool["hosts"].At(0);
    any = true;
    right = right && (first.IsText() || first.Has("ip"));
  });
  return right && any;
}

Found Sky(YamlView root, const std::string& file) {
  if (IsSkyPool(root))
    return ForeignFile{"a list of SkyPilot's SSH node pools", HostsOfSkyPools(root, file)};
  const bool work = root.Has("run") || root.Has("setup");
  if (!work || !(root.Has("resources") || root.Has("num_nodes") || root.Has("file_mounts"))) {
    return std::nullopt;
  }
  return NamesNone(
      "a SkyPilot task",
      "its machines are made by `sky launch`; in its 'run', on the first of them: echo "
      "\"$SKYPILOT_NODE_IPS\" > hosts; autodist init --from hosts --output "
      "cluster.yaml");
}

Found RankTable(YamlView root, const std::string& file) {
  const bool right =
      root["server_list"].At(0).Has("device") || root["group_list"].At(0).Has("instance_list");
  if (!right) return std::nullopt;
  return ForeignFile{"a rank table of HCCL", HostsOfRankTable(root, file)};
}

Found TorchX(YamlView root, const std::string&) {
  if (!root["roles"].At(0).Has("entrypoint")) return std::nullopt;
  return NamesNone(
      "an AppDef of TorchX",
      "it names no machines; 'autodist init --hosts HOST1,HOST2 --output cluster.yaml' "
      "makes a spec");
}

Found Kubernetes(YamlView root, const std::string&) {
  if (!root.Has("apiVersion") || !root.Has("kind")) return std::nullopt;
  return NamesNone("a Kubernetes manifest (kind " + Quoted(root["kind"].text()) + ")",
                   "'autodist submit --kubernetes' makes manifests for jobs; pods that run "
                   "already are nodes of a spec with 'via: kubectl'");
}

Found Compose(YamlView root, const std::string&) {
  bool right = root["services"].IsMapping();
  root["services"].ForEachEntry([&](const std::string&, YamlView service) {
    right = right && (service.Has("image") || service.Has("build") || service.Has("extends"));
  });
  if (!right) return std::nullopt;
  return NamesNone("a file of docker compose",
                   "containers are nodes of a spec with 'via: docker' and 'container: NAME'");
}

Found TfConfig(YamlView root, const std::string& file) {
  if (!root["cluster"]["worker"].IsList()) return std::nullopt;
  return ForeignFile{"a TF_CONFIG", HostsOfTfConfig(root, file)};
}

Found Playbook(YamlView root, const std::string&) {
  const YamlView first = root.At(0);
  if (!first.Has("hosts") || !(first.Has("tasks") || first.Has("roles"))) return std::nullopt;
  return NamesNone("a playbook of Ansible",
                   "its machines are in an inventory: autodist init --from INVENTORY --output "
                   "cluster.yaml");
}

bool IsGroup(YamlView group) {
  if (!group.IsMapping()) return false;
  bool right = true;
  group.ForEachEntry([&](const std::string& key, YamlView value) {
    right = right && (key == "hosts" || key == "children" || key == "vars") &&
            (value.IsMapping() || value.IsEmpty());
  });
  return right && (group.Has("hosts") || group.Has("children"));
}

Found InventoryFile(YamlView root, const std::string& file) {
  bool right = root.IsMapping();
  root.ForEachEntry([&](const std::string&, YamlView group) { right = right && IsGroup(group); });
  if (!right) return std::nullopt;
  return ForeignFile{"an inventory of Ansible", HostsOfInventory(root, file)};
}

Found Lightning(YamlView root, const std::string&) {
  const YamlView trainer = root["trainer"];
  if (!trainer.Has("devices") && !trainer.Has("num_nodes")) return std::nullopt;
  return NamesNone("a configuration of Lightning or NeMo",
                   "it names no machines and stays an argument of the program; 'autodist init "
                   "--hosts HOST1,HOST2 --output cluster.yaml' makes a spec");
}

Found ListOfHosts(YamlView root, const std::string& file) {
  constexpr char kKind[] = "a list of hosts";
  bool names = root.size() > 0;
  root.ForEach([&](YamlView host) {
    names = names && host.IsText() && host.text().find(' ') == std::string::npos;
  });
  if (names) {
    HostList list = HostsOfList(root, file);
    if (list.issues.empty()) return ForeignFile{kKind, std::move(list)};
  }
  bool numbers = root.IsMapping();
  root.ForEachEntry([&](const std::string&, YamlView value) {
    numbers = numbers && ReadWholeNumber(value.text(), kMaxSlots).value_or(0) > 0;
  });
  if (!numbers) return std::nullopt;
  HostList list = HostsOfNumbers(root, file);
  if (!list.issues.empty()) return std::nullopt;
  return ForeignFile{kKind, std::move(list)};
}

// Recognizes "#SBATCH", and similar lines of other schedulers.
Found Script(const std::string& text, const std::string& file) {
  if (!text.starts_with("#!")) return std::nullopt;
  struct Scheduler {
    const char* mark;
    const char* name;
    const char* advice;
  };
  constexpr std::array kSchedulers = {
      Scheduler{"\n#SBATCH", "a batch script of Slurm",
                "in it, start the program by 'autodist run --slurm -- PROGRAM'"},
      Scheduler{"\n#PBS", "a batch script of PBS",
                "in it: autodist init --from $PBS_NODEFILE --output cluster.yaml"},
      Scheduler{"\n#BSUB", "a batch script of LSF",
                "in it: autodist init --from $LSB_DJOB_HOSTFILE --output cluster.yaml"},
      Scheduler{"\n#$ ", "a batch script of Grid Engine",
                "in it: autodist init --from $PE_HOSTFILE --output cluster.yaml"}};
  for (const auto& [mark, name, advice] : kSchedulers) {
    if (text.find(mark) != std::string::npos) return NamesNone(name, advice);
  }
  const std::string path = file.find('/') == file.npos ? "./" + file : file;
  return NamesNone("a script", "to start it: autodist run --spec cluster.yaml -- " +
                                   base::Printable(base::ShellQuote(path)));
}

// Recognizes an unambiguous list of hosts; a single word may be anything.
Found Hostfile(const std::string& text, const std::string& file) {
  HostList list = ParseHostfile(text, file);
  const bool several = list.hosts.size() > 1;
  const bool one =
      list.hosts.size() == 1 &&
      (list.hosts[0].slots || list.hosts[0].host.find_first_of("0123456789.") != std::string::npos);
  if (!list.issues.empty() || !(several || one)) return std::nullopt;
  return ForeignFile{"a list of hosts", std::move(list)};
}

// Whether the number of values is plausible, after expanding aliases, which can multiply them.
bool IsOfUsualSize(const YamlValue& root) {
  constexpr size_t kMaxOfAFile = 1 << 18;
  size_t count = 1;
  std::vector<const YamlValue*> open = {&root};
  while (!open.empty()) {
    const YamlValue* const value = open.back();
    open.pop_back();
    count += value->items.size();
    if (count > kMaxOfAFile) return false;
    open.insert(open.end(), value->items.begin(), value->items.end());
  }
  return true;
}

bool IsMappingOrList(YamlView root) { return root.IsMapping() || root.IsList(); }

}  // namespace

std::optional<ForeignFile> RecogniseFile(const std::string& text, const std::string& file) {
  if (FindBadByte(text)) return std::nullopt;
  if (Found script = Script(text, file)) return script;
  // In YAML "[workers]" is a list, and the next line another document.
  const HostfileForm form = FormOf(HostfileLines(text));
  if (form == HostfileForm::kInventory) {
    if (Found inventory = Hostfile(text, file)) return inventory;
  }
  std::string yaml = text;
  // JSON may be indented with tabs.
  if (const size_t begin = yaml.find_first_not_of(" \t\n");
      begin != std::string::npos && (yaml[begin] == '{' || yaml[begin] == '[')) {
    std::ranges::replace(yaml, '\t', ' ');
  }
  const YamlDocument document = ParseYaml(yaml);
  YamlView root(document.error ? nullptr : document.root);
  if (root.IsList() && document.second_document) root = YamlView();
  if (root.Has("nodes")) return std::nullopt;  // a spec
  if (document.root && !IsOfUsualSize(*document.root)) return std::nullopt;
  if (IsMappingOrList(root)) {
    for (const auto recognise :
         {Kubernetes, Accelerate, DeepSpeed, Ray, RankTable, Sky, TorchX, Compose, TfConfig,
          Playbook, InventoryFile, Lightning, ListOfHosts}) {
      if (Found found = recognise(root, file)) return found;
    }
  }
  // For YAML the template "{{ host }}" is a mapping.
  if (const RefusedForm* refused = WhyRefused(form)) {
    return NamesNone(refused->kind, refused->advice);
  }
  if (root.IsMapping()) return std::nullopt;
  return Hostfile(text, file);
}

std::string NoSpec(const ForeignFile& found, const std::string& file) {
  return "this is " + found.kind + ", not a resource spec; " +
         (found.hosts ? "'" + InitFrom(file) + "' makes one of it" : found.advice);
}

HostList HostsIn(const std::string& text, const std::string& file) {
  const auto found = RecogniseFile(text, file);
  if (found && found->hosts) return *found->hosts;
  if (found) return {{}, {{file, 0, 0, "this is " + found->kind + "; " + found->advice}}, {}};
  const YamlDocument document = FindBadByte(text) ? YamlDocument() : ParseYaml(text);
  const YamlView root(document.error ? nullptr : document.root);
  if (root.Has("nodes")) {
    return {{},
            {{file, 0, 0,
              "this is a resource spec already; 'autodist validate " +
                  base::Printable(base::ShellQuote(file)) + "' checks it"}},
            {}};
  }
  if (root.IsMapping()) {
    return {
        {},
        {{file, 0, 0,
          "unknown format; give a list of hosts (a line each, such as 'gpu1 slots=4'), or a file "
          "of accelerate, Ray, SkyPilot, Ansible, HCCL or TensorFlow that names its machines"}},
        {}};
  }
  return ParseHostfile(text, file);
}

}  // namespace autodist::spec
