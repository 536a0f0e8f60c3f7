#include "spec/spec_check.h"

#include <algorithm>
#include <map>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "spec/address.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

std::string LoopbackIssue(const std::string& host) {
  return Quoted(host) + " is a loopback address; give the address that the other nodes reach";
}

class WholeCheck {
 public:
  WholeCheck(const ResourceSpec& spec, const ReportIssue& report)
      : spec_(spec),
        several_(spec.nodes.size() > 1),
        from_outside_(!spec.chief()),
        report_(report) {
    for (const auto& [name, group] : spec.ssh) groups_.push_back(name);
  }

  void Check(const Node& node, const NodePositions& at) {
    CheckChief(node, at);
    if (at.address != last_place_) CheckSshGroup(node, at);  // once for a range
    last_place_ = at.address;
    if (!node.address.empty()) CheckAddress(node, at);
    CheckDataAddress(node, at);
    if (!node.device_ips.empty() && node.device_ips.size() != node.gpus.size()) {
      report_(at.device_ips, "'device_ips' has " + base::Count(node.device_ips.size(), "address") +
                                 " for " + base::Count(node.gpus.size(), "device") +
                                 " of 'gpus'; give one for each, in the same order");
    }
  }

 private:
  struct First {
    int line;
    const Node* node;
  };

  void CheckChief(const Node& node, const NodePositions& at) {
    if (node.chief && chief_line_ > 0) {
      report_(at.address, "a second chief; the first is on line " + std::to_string(chief_line_) +
                              ": mark only the node on which you run autodist");
    } else if (node.chief) {
      chief_line_ = at.address.line;
    }
  }

  void CheckSshGroup(const Node& node, const NodePositions& at) {
    if (!node.ssh_config.empty() && !spec_.ssh.contains(node.ssh_config)) {
      const std::string near = base::Nearest(node.ssh_config, groups_);
      report_(at.ssh_config,
              "ssh group " + Quoted(node.ssh_config) + " is not defined; " +
                  (groups_.empty() ? "the spec has no 'ssh' groups" : "defined are: " + Groups()) +
                  (near.empty() ? "" : "; did you mean " + Quoted(near) + "?"));
    }
    if (several_ && !node.chief && node.ssh_config.empty()) {
      report_(at.address,
              (node.address.empty() ? "this node" : "node " + Quoted(node.address)) +
                  " has no 'ssh_config', which says how to log in; name " +
                  (groups_.empty() ? "a group under 'ssh' (here `ssh_config: workers`, at the end "
                                     "`ssh: {workers: {}}` to log in as `ssh` does)"
                                   : Groups()) +
                  (from_outside_ ? ", or add 'chief: true' if you run autodist on it" : ""));
    }
  }

  void CheckAddress(const Node& node, const NodePositions& at) {
    const auto [entry, is_new] =
        addresses_.emplace(Identity(node.address), First{at.address.line, &node});
    if (!is_new) {
      const bool two_ports = entry->second.node->port != node.port;
      report_(at.address, "address " + Quoted(node.address) +
                              " is already that of the node on line " +
                              std::to_string(entry->second.line) + "; " +
                              (two_ports ? "two SSH servers behind one address need a host name "
                                           "each, such as in /etc/hosts"
                                         : "list each machine once, with all its devices"));
    }
    if (!several_) return;
    const auto ip = base::IpAddress::Parse(node.address);
    if (IsLoopback(node.address)) {
      report_(at.address, LoopbackIssue(node.address));
    } else if (ip && ip->IsLinkLocal() && ip->scope.empty()) {
      report_(at.address, Quoted(node.address) +
                              " is a link-local address; it needs the interface "
                              "by which the chief reaches it, such as " +
                              Quoted(node.address + "%eth0"));
    } else if (ip && !ip->scope.empty() && node.data_address.empty() && !from_outside_) {
      report_(at.address,
              Quoted(node.address) +
                  " is valid only on the chief; add a 'data_address' that every node can reach");
    }
  }

  // Ranks reach a node by its data address, or else by its address; if autodist runs on none of the
  // nodes, by the address that the node reports.
  void CheckDataAddress(const Node& node, const NodePositions& at) {
    const bool own = !node.data_address.empty();
    const auto ip = base::IpAddress::Parse(node.data_address);
    if (several_ && IsLoopback(node.data_address)) {
      report_(at.data_address, LoopbackIssue(node.data_address));
    } else if (several_ && ip && (ip->IsLinkLocal() || !ip->scope.empty())) {
      report_(at.data_address,
              Quoted(node.data_address) +
                  " is valid only on one machine; give an address that every node can reach");
    }
    const std::string& used = own ? node.data_address : node.address;
    if (used.empty() || (!own && from_outside_)) return;
    const auto [entry, is_new] =
        data_addresses_.emplace(Identity(used), First{at.address.line, &node});
    // If neither has a data address, the repeated address has been reported.
    if (is_new || (!own && entry->second.node->data_address.empty())) return;
    report_(own ? at.data_address : at.address,
            Quoted(used) + " is already where ranks reach the node on line " +
                std::to_string(entry->second.line) + "; each node needs a different data address");
  }

  std::string Groups() const {
    constexpr size_t kMost = 20;
    std::vector<std::string> names;
    for (const std::string& name : groups_) {
      if (names.size() == kMost) return base::Alternatives(names) + ", …";
      names.push_back(base::Printable(name));
    }
    return base::Alternatives(names);
  }

  const ResourceSpec& spec_;
  const bool several_;
  const bool from_outside_;
  const ReportIssue& report_;
  std::vector<std::string> groups_;
  std::map<std::string, First> addresses_;
  std::map<std::string, First> data_addresses_;
  int chief_line_ = 0;
  Position last_place_{};
};

}  // namespace

void CheckWhole(const ResourceSpec& spec, const std::vector<NodePositions>& nodes,
                Position nodes_list, const ReportIssue& report) {
  WholeCheck check(spec, report);
  for (size_t i = 0; i < spec.nodes.size(); ++i) check.Check(spec.nodes[i], nodes[i]);
  const bool has_device =
      std::ranges::any_of(spec.nodes, [](const Node& node) { return !node.devices().empty(); });
  if (!spec.nodes.empty() && !has_device) {
    report(nodes_list, "'gpus' and 'cpus' are empty on all nodes, so there would be no rank");
  }
}

}  // namespace autodist::spec
