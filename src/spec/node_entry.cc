#include "spec/node_entry.h"

#include "base/quantity.h"
#include "spec/host_range.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

// Whether the entry can be that of several nodes.
bool CheckSeveral(const NodeEntry& entry, const ReportProblem& report) {
  const std::string machines = base::Count(entry.addresses.size(), "machine");
  if (entry.node.chief) {
    report(entry.at.chief, "'chief' with an address that stands for " + machines +
                               "; give the one that you launch from an entry of its own");
    return false;
  }
  if (!entry.node.device_ips.empty()) {
    report(entry.at.device_ips, "'device_ips' are those of one machine, and 'address' stands for " +
                                    machines + "; give each an entry of its own");
    return false;
  }
  if (!entry.node.host_keys.empty()) {
    report(entry.at.host_keys, "'host_keys' are those of one machine, and 'address' stands for " +
                                   machines + "; give each an entry of its own");
    return false;
  }
  return true;
}

// Whether there is one for each of `machines`, or none.
bool CheckAsMany(const std::vector<std::string>& addresses, size_t machines, const char* key,
                 Position at, const ReportProblem& report) {
  if (addresses.empty() || machines == 0 || addresses.size() == machines) return true;
  report(at, Quoted(key) + " stands for " + base::Count(addresses.size(), "machine") +
                 ", and 'address' for " + std::to_string(machines) + "; give each one of its own");
  return false;
}

}  // namespace

Result<std::vector<std::string>> ReadHosts(const std::string& text) {
  if (!IsHostRange(text)) {
    AD_RETURN_IF_ERROR(CheckHost(text));
    return std::vector<std::string>{text};
  }
  HostRange range = ExpandHostRange(text);
  if (!range.wrong.empty()) {
    return Error(StatusCode::kInvalidArgument, Quoted(text) + ": " + range.wrong);
  }
  for (const std::string& host : range.names) AD_RETURN_IF_ERROR(CheckHost(host));
  return std::move(range.names);
}

Result<std::vector<HostAndPort>> ReadHostsAndPort(const std::string& text) {
  // "[gpu[01-16]]:2222" has brackets around the range.
  const size_t close = text.rfind(']');
  const bool around = text.starts_with('[') && close != std::string::npos &&
                      IsHostRange(std::string_view(text).substr(1, close - 1));
  if (!around && !IsHostRange(text)) {
    AD_ASSIGN_OR_RETURN(const HostAndPort one, ReadHostAndPort(text));
    return std::vector<HostAndPort>{one};
  }
  std::vector<HostAndPort> read;
  AD_ASSIGN_OR_RETURN(const auto hosts, ReadHosts(around ? text.substr(1, close - 1) : text));
  for (const std::string& host : hosts) {
    const std::string ending = around ? text.substr(close) : "";
    AD_ASSIGN_OR_RETURN(const HostAndPort one,
                        ReadHostAndPort(around ? "[" + host + ending : host));
    read.push_back(one);
  }
  return read;
}

std::vector<Node> NodesOf(const NodeEntry& entry, const ReportProblem& report) {
  const size_t count = entry.addresses.size();
  std::vector<Node> nodes(1, entry.node);
  const bool as_many =
      CheckAsMany(entry.data_addresses, count, "data_address", entry.at.data_address, report) &&
      CheckAsMany(entry.ssh_addresses, count, "ssh_address", entry.at.ssh_address, report);
  if (as_many && count > 0 && (count == 1 || CheckSeveral(entry, report))) {
    nodes.resize(count, entry.node);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i < count) {
      nodes[i].address = entry.addresses[i].host;
      nodes[i].port = entry.addresses[i].port;
    }
    if (i < entry.data_addresses.size()) nodes[i].data_address = entry.data_addresses[i];
    if (i < entry.ssh_addresses.size()) nodes[i].ssh_address = entry.ssh_addresses[i];
  }
  return nodes;
}

}  // namespace autodist::spec
