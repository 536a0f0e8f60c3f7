// The key `via`: how programs run on a node if not by SSH alone, but in a container by `podman
// exec`, `docker exec` or `kubectl exec`, or by another program that executes its last arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/key.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Reads `via: podman`, `docker`, `kubectl`, `srun` or an argv, and reports issues.
std::vector<std::string> ReadVia(const KeyedValue& in);

// Reads a list of arguments.
std::vector<std::string> ReadWords(const KeyedValue& in);

// Checks `text` as the name of a container or of an image; the error says what is valid.
Status CheckContainer(const std::string& text);
Status CheckImage(const std::string& text);

// Reports all issues in the combination of a group's keys.
void CheckVia(const SshGroup& group, const std::function<void(const std::string& what)>& report);

}  // namespace autodist::spec
