// Reads an entry of the list 'nodes'; an address range makes it stand for several nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/address.h"
#include "spec/issue.h"
#include "spec/resource_spec.h"
#include "spec/value_reader.h"

namespace autodist::spec {

// The positions of a node's values; for missing ones that of the node itself.
struct NodePositions {
  Position address;
  Position ssh_config;
  Position data_address;
  Position device_ips;
  Position chief;
  Position ssh_address;
  Position host_keys;
};

using ReportIssue = std::function<void(Position where, const std::string& what)>;

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
