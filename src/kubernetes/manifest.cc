#include "kubernetes/manifest.h"

#include <strings.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <string_view>

#include "base/json_quote.h"
#include "base/random.h"
#include "base/split.h"
#include "kubernetes/pods.h"

namespace autodist::kubernetes {
namespace {

// Plain scalars that YAML 1.1 does not read as a text. Source: yaml.org/type/bool.html, null.html.
constexpr const char* kNoTexts[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};

// Whether the text needs no quotes: it begins like a word, a path or a long option, and has no
// special characters of YAML.
bool IsPlain(const std::string& text) {
  const size_t start = text.starts_with("--") ? 2 : 0;
  if (text.size() <= start || text.back() == ':') return false;
  if (std::isalpha(static_cast<unsigned char>(text[start])) == 0 && text[start] != '/')
    return false;
  return std::ranges::all_of(text,
                             [](unsigned char c) {
                               return std::isalnum(c) ||
                                      std::string_view("-_./:=+@,").find(static_cast<char>(c)) !=
                                          std::string_view::npos;
                             }) &&
         std::ranges::none_of(kNoTexts,
                              [&](const char* no) { return strcasecmp(text.c_str(), no) == 0; });
}

std::string Scalar(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return IsPlain(text) ? text : base::JsonQuoted(text);
}

std::string Block(const nlohmann::ordered_json& value, size_t indent) {
  const std::string margin(indent, ' ');
  std::string text;
  for (const auto& [key, item] : value.items()) {
    const bool nested = item.is_structured() && !item.empty();
    if (value.is_array()) {
      // The first line of the content follows the dash.
      text += margin + "- " +
              (nested ? Block(item, indent + 2).substr(indent + 2) : Scalar(item) + "\n");
    } else {
      text += margin + Scalar(key) + ":" +
              (nested ? "\n" + Block(item, item.is_array() ? indent : indent + 2)
                      : " " + Scalar(item) + "\n");
    }
  }
  return text;
}

// Formats a non-empty mapping or list as a YAML document in block style; texts are UTF-8. YAML 1.1
// parsers, as in Kubernetes' programs, read the same values.
std::string YamlText(const nlohmann::ordered_json& value) { return Block(value, 0); }

using Json = nlohmann::ordered_json;

// Kubernetes derives "NAME-worker-0-99999-abcde", the longest name, from it. A label has at most 63
// characters.
constexpr size_t kMaxLabelLength = 63;
constexpr size_t kMadeOfName = sizeof "-worker-0-99999-abcde" - 1;
constexpr size_t kSuffix = 6;  // "-7f3kq"
constexpr char kWorker[] = "worker";
constexpr char kJobSetLabel[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kGpus[] = "nvidia.com/gpu";
// In the chief's pod, which has a separate network; below all ports for ranks.
constexpr unsigned kCallPort = 7420;
constexpr char kProgram[] = "autodist";
constexpr char kProgramFolder[] = "/autodist";  // if autodist has a separate image
// Kubernetes replaces $$ with $. Source: k8s.io/kubernetes/third_party/forked/golang/expansion.
constexpr char kCopy[] = "cp \"$$(command -v autodist)\" /autodist/";
constexpr char kRequestFile[] = "/etc/autodist/request";
constexpr char kRequest[] = "request";                     // the entry of the Secret
constexpr char kIndexOfPod[] = "$(JOB_COMPLETION_INDEX)";  // expanded by Kubernetes
constexpr std::chrono::seconds kExitMargin{20};            // for autodist to exit after its ranks

Json Metadata(const KubernetesRequest& request) {
  return {{"name", request.name}, {"labels", {{"app.kubernetes.io/managed-by", "autodist"}}}};
}

Json Variable(const std::string& name, const std::string& value) {
  return {{"name", "AUTODIST_KUBERNETES_" + name}, {"value", value}};
}

// The variables that ThisPod reads.
Json Variables(const KubernetesRequest& request, const std::string& role) {
  const std::string chief = request.name + "-" + kChief + "-0-0." + request.name;
  const bool on_gpus = request.gpus > 0;
  return Json::array(
      {Variable("ROLE", role), Variable("CHIEF", chief + ":" + std::to_string(kCallPort)),
       Variable("NODES", std::to_string(request.nodes)),
       Variable(on_gpus ? "GPUS" : "RANKS",
                std::to_string(on_gpus ? request.gpus : std::max(request.ranks, 1U)))});
}

Json Resources(const KubernetesRequest& request) {
  Json limits = Json::object();
  if (!request.cpus.empty()) limits["cpu"] = request.cpus;
  if (!request.memory.empty()) limits["memory"] = request.memory;
  if (request.gpus > 0) limits[kGpus] = request.gpus;
  return limits;
}

// The volumes of a pod, and their mounts in a container.
struct Volumes {
  Json volumes = Json::array();
  Json mounts = Json::array();

  void Add(const std::string& name, const std::string& path, const char* kind, Json source,
           bool read_only) {
    volumes.push_back({{"name", name}, {kind, std::move(source)}});
    mounts.push_back({{"name", name}, {"mountPath", path}});
    if (read_only) mounts.back()["readOnly"] = true;
  }
};

Volumes VolumesOf(const KubernetesRequest& request, const std::string& role) {
  Volumes all;
  all.Add("shm", "/dev/shm", "emptyDir", {{"medium", "Memory"}}, false);
  // Mode 0444, because the image's user may be any.
  all.Add("secret", kRequestFile, "secret", {{"secretName", request.name}, {"defaultMode", 0444}},
          true);
  all.mounts.back()["subPath"] = kRequest;
  if (request.nodes > 1) {
    // Each pod has only its own key, the chief the job's.
    all.mounts.push_back({{"name", "secret"}, {"mountPath", kKeyFile}, {"readOnly", true}});
    const bool chief = role == kChief;
    all.mounts.back()[chief ? "subPath" : "subPathExpr"] = chief ? role : role + "-" + kIndexOfPod;
  }
  if (!request.autodist_image.empty()) {
    all.Add("autodist", kProgramFolder, "emptyDir", Json::object(), false);
  }
  size_t number = 0;
  for (const ClaimedVolume& volume : request.volumes) {
    all.Add("volume-" + std::to_string(number++), volume.path, "persistentVolumeClaim",
            {{"claimName", volume.claim}}, volume.read_only);
  }
  return all;
}

Json PodSpec(const KubernetesRequest& request, const char* role) {
  const Volumes volumes = VolumesOf(request, role);
  const std::string folder =
      request.autodist_image.empty() ? "" : std::string(kProgramFolder) + "/";
  Json container = {{"name", "autodist"},
                    {"image", request.image},
                    {"command", Json::array({folder + kProgram, "run-request", kRequestFile})},
                    {"env", Variables(request, role)}};
  for (const std::string& secret : request.env_from) {
    container["envFrom"].push_back({{"secretRef", {{"name", secret}}}});
  }
  if (Json limits = Resources(request); !limits.empty()) {
    container["resources"] = {{"limits", std::move(limits)}};
  }
  container["volumeMounts"] = volumes.mounts;
  // autodist restarts ranks itself; the pods need neither Kubernetes' API nor its variables.
  Json pod = {{"restartPolicy", "Never"},
              {"terminationGracePeriodSeconds", (request.grace + kExitMargin).count()},
              {"automountServiceAccountToken", false},
              {"enableServiceLinks", false}};
  if (!request.pull_secret.empty()) {
    pod["imagePullSecrets"] = Json::array({{{"name", request.pull_secret}}});
  }
  if (!request.autodist_image.empty()) {
    pod["initContainers"] = Json::array(
        {{{"name", "copy-autodist"},
          {"image", request.autodist_image},
          {"command", Json::array({"sh", "-c", kCopy})},
          {"volumeMounts", Json::array({{{"name", "autodist"}, {"mountPath", kProgramFolder}}})}}});
  }
  pod["containers"] = Json::array({std::move(container)});
  pod["volumes"] = volumes.volumes;
  return pod;
}

Json ReplicatedJob(const char* name, uint32_t pods, int32_t failures, Json pod) {
  return {{"name", name},
          {"replicas", 1},
          {"template",
           {{"spec",
             {{"completionMode", "Indexed"},
              {"completions", pods},
              {"parallelism", pods},
              {"backoffLimit", failures},
              {"template", {{"spec", std::move(pod)}}}}}}}};
}

}  // namespace

Result<ClaimedVolume> ParseVolume(const std::string& text) {
  const std::vector<std::string_view> parts = base::Split(text, ':');
  const bool read_only = parts.size() == 3 && parts[2] == "ro";
  if ((parts.size() == 2 || read_only) && !parts[0].empty() && parts[1].starts_with('/')) {
    return ClaimedVolume{std::string(parts[0]), std::string(parts[1]), read_only};
  }
  return Error(StatusCode::kInvalidArgument,
               "'" + text + "' is not CLAIM:/PATH or CLAIM:/PATH:ro, such as data:/data:ro");
}

std::string ObjectName(const std::string& job_name) {
  constexpr char kDigits[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string name;
  for (const char c : job_name) {
    const auto letter = static_cast<unsigned char>(c);
    if (name.empty() && std::isalpha(letter) == 0) continue;  // it must begin with a letter
    name += std::isalnum(letter) ? static_cast<char>(std::tolower(letter)) : '-';
  }
  name.resize(std::min(name.size(), kMaxLabelLength - kMadeOfName - kSuffix));
  while (name.ends_with('-')) name.pop_back();
  if (name.empty()) name = "autodist";
  name += '-';
  uint64_t random = base::RandomNumber();
  for (size_t i = 1; i < kSuffix; ++i, random /= 32) name += kDigits[random % 32];
  return name;
}

std::string JobSetManifest(const KubernetesRequest& request) {
  // The end of the chief is the end of the JobSet; the end of another pod is not.
  Json jobs = Json::array({ReplicatedJob(kChief, 1, 0, PodSpec(request, kChief))});
  if (request.nodes > 1) {
    jobs.push_back(ReplicatedJob(kWorker, request.nodes - 1, std::numeric_limits<int32_t>::max(),
                                 PodSpec(request, kWorker)));
  }
  return YamlText(
      {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
       {"kind", "JobSet"},
       {"metadata", Metadata(request)},
       {"spec",
        {{"network", {{"enableDNSHostnames", true}, {"subdomain", request.name}}},
         {"successPolicy", {{"operator", "All"}, {"targetReplicatedJobs", Json::array({kChief})}}},
         {"failurePolicy", {{"maxRestarts", 0}}},
         {"replicatedJobs", std::move(jobs)}}}});
}

std::string CompanionsManifest(const KubernetesRequest& request, const std::string& jobset_uid) {
  Json metadata = Metadata(request);
  if (!jobset_uid.empty()) {
    metadata["ownerReferences"] = Json::array({{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                {"kind", "JobSet"},
                                                {"name", request.name},
                                                {"uid", jobset_uid}}});
  }
  const Json ours = {{"matchLabels", {{kJobSetLabel, request.name}}}};
  const Json policy = {
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "NetworkPolicy"},
      {"metadata", metadata},
      {"spec",
       {{"podSelector", ours},
        {"policyTypes", Json::array({"Ingress"})},
        {"ingress", Json::array({{{"from", Json::array({{{"podSelector", ours}}})}}})}}}};
  Json entries = request.keys;
  entries[kRequest] = request.job;
  const Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", metadata},
                       {"immutable", true},  {"type", "Opaque"}, {"stringData", entries}};
  return YamlText(policy) + "---\n" + YamlText(secret);
}

}  // namespace autodist::kubernetes
