// A drafted resource spec as YAML for people to read and change.
#pragma once

#include <string>

#include "spec/spec_draft.h"

namespace autodist::spec {

// What ReadSpec reads back as the same spec, with the notes as comments. Of nodes and groups it
// writes what a draft has: address, devices, chief and ssh_config; key_file, username and port.
std::string SpecText(const SpecDraft& draft);

}  // namespace autodist::spec
