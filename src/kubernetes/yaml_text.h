// Formats values as YAML in block style.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace autodist::kubernetes {

// Formats a non-empty mapping or list as a document; texts are UTF-8. YAML 1.1 parsers, as in
// Kubernetes' programs, read the same values.
std::string YamlText(const nlohmann::ordered_json& value);

}  // namespace autodist::kubernetes
