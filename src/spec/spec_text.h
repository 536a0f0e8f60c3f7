// Writes a resource spec as YAML for users to read and edit.
#pragma once

#include <string>

#include "spec/spec_draft.h"

namespace autodist::spec {

// Returns a text that ReadSpec reads as the same spec, with the notes as comments.
std::string SpecText(const SpecDraft& draft);
std::string SpecText(const ResourceSpec& spec);

}  // namespace autodist::spec
