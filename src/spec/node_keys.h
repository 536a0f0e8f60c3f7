// Reads an entry of the list 'nodes'.
#pragma once

#include <optional>
#include <vector>

#include "spec/node_entry.h"
#include "spec/value_reader.h"

namespace autodist::spec {

// Reports what is wrong with it; nullopt if it is no mapping.
std::optional<NodeEntry> ReadNodeEntry(ValueReader& reader, const YamlValue& yaml);

std::vector<KeyText> NodeKeyTexts();

}  // namespace autodist::spec
