// Writes a resource spec as YAML for users to read and edit.
#pragma once

#include <string>

#include "spec/spec_draft.h"

namespace autodist::spec {

// Returns a text that ReadSpec reads as the same spec, with the notes as comments. `file`: the name
// that the commands in it get; "": not known.
std::string SpecText(const SpecDraft& draft, const std::string& file = "");
std::string SpecText(const ResourceSpec& spec);

}  // namespace autodist::spec
