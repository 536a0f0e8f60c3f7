// Values as YAML, in the block style that people write.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace autodist::kubernetes {

// A mapping or list that is not empty, as a document; its texts are UTF-8. What YAML 1.1 reads of
// it, as Kubernetes' programs do, are the same values.
std::string YamlText(const nlohmann::ordered_json& value);

}  // namespace autodist::kubernetes
