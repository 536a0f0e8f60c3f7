#include "cli/submit_kubernetes.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/commands.h"
#include "cli/help_text.h"
#include "cli/values.h"
#include "exec/exec.h"
#include "transport/hand_over.h"

namespace autodist::cli {
namespace {

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

// Removes the first part if the second fails: half of a job would wait forever.
Status CreateBoth(const KubernetesOptions& options) {
  const kubernetes::KubernetesRequest& request = options.request;
  const auto kubectl = [&](std::vector<std::string> more) {
    std::vector<std::string> argv = {"kubectl"};
    if (!options.kube_context.empty()) argv.push_back("--context=" + options.kube_context);
    if (!options.kube_namespace.empty()) argv.push_back("--namespace=" + options.kube_namespace);
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  };
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
                              : "kubectl delete jobset " + request.name);
}

}  // namespace

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
  base::Log(base::LogLevel::kInfo,
            "submitted as JobSet " + request.name + "; kubectl logs -f job/" + request.name +
                "-chief-0 shows its output, kubectl delete jobset " + request.name + " ends it");
  std::printf("%s\n", request.name.c_str());
  return 0;
}

}  // namespace autodist::cli
