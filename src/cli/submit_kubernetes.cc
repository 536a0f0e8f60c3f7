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

constexpr std::chrono::seconds kKubectlLimit{60};  // of an API server that is far, or busy

CLI::Validator Quantity() {
  return {[](const std::string& text) -> std::string {
            const size_t unit = text.find_first_not_of("0123456789.");
            if (unit != 0 && !text.empty() && text.size() - std::min(unit, text.size()) <= 2)
              return "";
            return "'" + text + "' is no quantity as Kubernetes has them, such as 16, 500m or 64Gi";
          },
          ""};
}

// Half of a job would wait for the other for ever.
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
                      "--print shows the manifest; a cluster needs JobSet, "
                      "https://jobset.sigs.k8s.io/docs/installation");
  }
  const auto rest = transport::HandOver(
      kubectl({"create", "-f", "-"}), kubernetes::CompanionsManifest(request, *uid), kKubectlLimit);
  if (rest.ok()) return OkStatus();
  const auto gone = transport::HandOver(kubectl({"delete", "jobset", request.name, "--wait=false"}),
                                        "", kKubectlLimit);
  return WithRemedy(Annotate(rest.status(), "kubectl create"),
                    gone.ok() ? "nothing is left of the job; may you create Secrets and "
                                "NetworkPolicies there?"
                              : "kubectl delete jobset " + request.name);
}

}  // namespace

void AddKubernetesOptions(CLI::App& app, KubernetesOptions& options) {
  kubernetes::KubernetesRequest& request = options.request;
  const auto add = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->check(NotEmpty())->group(group::kKubernetes);
  };
  add("--image", request.image, "What the pods run; autodist is in its PATH, or see below")
      ->type_name("IMAGE");
  add("--autodist-image", request.autodist_image,
      "An image with sh, cp and autodist, which is copied from there into the pods")
      ->type_name("IMAGE");
  add("--cpus", request.cpus, "Cores of each node: 16, 500m")->check(Quantity())->type_name("N");
  add("--memory", request.memory, "Of each node: 64Gi")->check(Quantity())->type_name("BYTES");
  app.add_option_function<std::vector<std::string>>(
         "--volume",
         [&request](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             if (auto volume = kubernetes::ParseVolume(text); volume.ok())
               request.volumes.push_back(*volume);
           }
         },
         "A persistent volume claim and where the pods have it, data:/data or data:/data:ro; may "
         "be given again")
      ->check(ParsedBy(kubernetes::ParseVolume, "VOLUME"))
      ->allow_extra_args(false)
      ->group(group::kKubernetes);
  add("--env-from", request.env_from,
      "A Secret whose entries are variables in the pods; may be given again")
      ->allow_extra_args(false)
      ->type_name("SECRET");
  add("--pull-secret", request.pull_secret, "The Secret for the registry of the images")
      ->type_name("SECRET");
  add("--namespace", options.kube_namespace, "Where the job goes; default: kubectl's");
  add("--context", options.kube_context, "The cluster, as kubectl calls it; default: kubectl's");
}

int SubmitToKubernetes(const KubernetesOptions& options, bool print) {
  const kubernetes::KubernetesRequest& request = options.request;
  if (request.image.empty()) {
    return Fail(
        WithRemedy(Error(StatusCode::kInvalidArgument, "no image for the pods"),
                   "--image NAME, an image that has your program, and autodist in its PATH; "
                   "where it has no autodist, --autodist-image names one that does"),
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
