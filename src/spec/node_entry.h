// Reads an entry of the list 'nodes', which stands for as many nodes as its address is a range of.
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
  Node node;  // but for its addresses
  NodePositions at;
  std::vector<HostAndPort> addresses;       // none: the address is missing, or was not understood
  std::vector<std::string> data_addresses;  // none: not given, or not understood
  std::vector<std::string> ssh_addresses;   // the same
};

// Reports what is wrong with it; nullopt if it is no mapping.
std::optional<NodeEntry> ReadNodeEntry(ValueReader& reader, const YamlValue& yaml);

std::vector<KeyText> NodeKeyTexts();

// Its nodes, one at least; only one where something was wrong, which has been reported.
std::vector<Node> NodesOf(const NodeEntry& entry, const ReportIssue& report);

}  // namespace autodist::spec
