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

// Adds the options of group::kKubernetes. `options` must outlive the parsing.
void AddKubernetesOptions(CLI::App& app, KubernetesOptions& options);

// Prints the manifest, or creates its objects with kubectl. Returns the exit code.
int SubmitToKubernetes(const KubernetesOptions& options, bool print);

}  // namespace autodist::cli
