// Reads an entry of the list 'nodes'; an address range makes it stand for several nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/address.h"
#include "spec/resource_spec.h"
#include "spec/spec_check.h"
#include "spec/value_reader.h"

namespace autodist::spec {

struct NodeEntry {
  Node node;  // without addresses
  NodePositions at;
  std::vector<HostAndPort> addresses;       // empty: missing or invalid
  std::vector<std::string> data_addresses;  // empty: missing or invalid
  std::vector<std::string> ssh_addresses;   // empty: missing or invalid
};

// Reports the issues of the entry; nullopt if it is not a mapping.
std::optional<NodeEntry> ReadNodeEntry(ValueReader& reader, const YamlValue& yaml);

std::vector<KeyText> NodeKeyTexts();

// Returns the nodes of the entry, at least one; exactly one after an issue, which has been
// reported.
std::vector<Node> NodesOf(const NodeEntry& entry, const ReportIssue& report);

}  // namespace autodist::spec
