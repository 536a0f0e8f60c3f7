// autodist submit --kubernetes
#pragma once

#include <string>

#include "cli/app.h"
#include "kubernetes/manifest.h"

namespace autodist::cli {

struct KubernetesOptions {
  kubernetes::KubernetesRequest request;
  std::string kube_context;  // of kubectl's configuration; "": the current one
  std::string kube_namespace;
};

// Of group::kKubernetes. Fills them as they are parsed; they have to outlive that.
void AddKubernetesOptions(CLI::App& app, KubernetesOptions& options);

// Prints the manifest, or has kubectl create what it says; gives the exit code.
int SubmitToKubernetes(const KubernetesOptions& options, bool print);

}  // namespace autodist::cli
