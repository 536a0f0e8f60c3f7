// How a node's programs are run where they are not run by SSH alone: in a container, by `podman
// exec`, `docker exec` or `kubectl exec`, or by another program that runs what follows its own
// arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "spec/key.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Reads `via: podman`, `docker`, `kubectl`, `srun` or a list of words; reports what is wrong with
// it.
std::vector<std::string> ReadVia(const KeyedValue& in);

// Reads a list of words.
std::vector<std::string> ReadWords(const KeyedValue& in);

// A Status that tells what is wrong with `text` as the name of a container, or of an image, and
// what would be right.
Status CheckContainer(const std::string& text);
Status CheckImage(const std::string& text);

// What is wrong with the keys of a group together, one after the other.
void CheckVia(const SshGroup& group, const std::function<void(const std::string& what)>& report);

}  // namespace autodist::spec
