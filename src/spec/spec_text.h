// A resource spec as YAML, for people to read and change.
#pragma once

#include <string>

#include "spec/spec_draft.h"

namespace autodist::spec {

// What ReadSpec reads back as the same spec, with the notes as comments.
std::string SpecText(const SpecDraft& draft);
std::string SpecText(const ResourceSpec& spec);

}  // namespace autodist::spec
