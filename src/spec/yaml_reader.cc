#include "spec/yaml_reader.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/quantity.h"
#include "base/shell_quote.h"
#include "base/text_file.h"
#include "base/utf8.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/node_entry.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/text_check.h"
#include "spec/value_reader.h"
#include "spec/yaml_tree.h"

namespace autodist::spec {
namespace {

// Checks a whole spec: at most one chief, all named ssh groups exist, no two nodes have the same
// address, and there is at least one rank.

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
    const auto group = spec_.ssh.find(node.ssh_config);
    if (group != spec_.ssh.end() && !node.address.empty() &&
        group->second.username.ends_with("@" + node.address)) {
      const std::string& user = group->second.username;
      report_(at.ssh_config,
              "the user " + Quoted(user) + " has the address of the node, too; write " +
                  Quoted("username: " + user.substr(0, user.size() - node.address.size() - 1)));
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

// Reports all issues between the parts of a spec that has been read; an invalid address is empty.
// `nodes` is in the order of spec.nodes; nodes of a range have the same position.
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

constexpr size_t kLargestSpec = 1 << 20;  // a thousand nodes need a tenth of it

using Kind = YamlValue::Kind;

// Returns a hint for a line that is indented with a tab, and where YAML parsed "[host]:22", or
// within braces "gpu[1-4]", as a list, which causes a syntax error a little later.
std::string SyntaxHint(const std::string& text, int line_of_error) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i < line_of_error; ++i) std::getline(lines, line);
  if (line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string::npos) {
    return "; the line begins with a tab, and YAML indents by spaces alone";
  }
  if (line.find("\u00a0") != std::string::npos) {
    return "; the line has a no-break space (U+00A0), as web pages have; type its blanks again";
  }
  if (line.find("]:") != std::string::npos) {
    return "; an address in brackets needs quotes: '[host]:2222'";
  }
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '[' && std::isalnum(static_cast<unsigned char>(line[i - 1]))) {
      return "; a range of addresses needs quotes here: 'gpu[1-4]'";
    }
  }
  return "";
}

// Walks the document once, and collects issues instead of stopping at the first.
class Reader : private ValueReader {
 public:
  explicit Reader(std::string file) : ValueReader(std::move(file)) {}

  ReadOutcome Read(const std::string& text);

  static const std::vector<Key<Reader>>& Keys();

 private:
  void ReadText(const std::string& text);
  void ReadDocument(const YamlValue& root);
  void ReadNodes(const YamlValue& nodes);
  void ReadNode(const YamlValue& yaml);
  void UseSshSection();
  static bool IsOfNoSpec(const YamlValue& key, const YamlValue& value);
  static void ReadSharedPaths(const KeyedValue& in, Reader& to);
  void AddNodes(const YamlValue& yaml, const NodeEntry& entry, size_t size);

  ResourceSpec spec_;
  std::vector<NodePositions> node_positions_;  // of each node of spec_
  size_t range_hosts_ = 0;                     // number of hosts in ranges
  SshSection ssh_;
  std::optional<ForeignFile> foreign_;
};

const std::vector<Key<Reader>>& Reader::Keys() {
  static const std::vector<Key<Reader>> keys = {
      {{"nodes", "required: list of [nodes](#a-node)",
        "The machines. Ranks are numbered on the chief node first, if there is one, then on the "
        "others in this order.",
        R"("type": "array", "minItems": 1, "items": {"$ref": "#/definitions/node"})", "",
        "hosts machines workers"},
       [](const KeyedValue& in, Reader& to) { to.ReadNodes(in.value); }},
      {{"ssh", "a mapping from names of your choice to [ssh groups](#an-ssh-group)",
        "The login settings. Each node names its group in `ssh_config`. If all nodes log in the "
        "same way, `ssh` may have the [settings of one group directly](#an-ssh-group).",
        R"("type": "object", "anyOf": [{"type": "object", "propertyNames": {"minLength": 1}, )"
        R"("additionalProperties": {"$ref": "#/definitions/ssh_group"}}, )"
        R"({"$ref": "#/definitions/ssh_group"}])",
        "", "ssh_configs"},
       [](const KeyedValue& in, Reader& to) { to.ssh_ = ReadSsh(in.reader, in.value); }},
      {{"shared_paths", "list of absolute paths",
        "[Folders](#shared-folders) that are the same file system on all nodes.",
        ListSchema(PatternSchema("/.*")) + R"(, "uniqueItems": true)", R"(["/shared"])"},
       ReadSharedPaths}};
  return keys;
}

ReadOutcome Reader::Read(const std::string& text) {
  std::vector<Issue> issues = Collect([&] { ReadText(text); });
  if (issues.empty()) return {std::move(spec_), std::move(ssh_.key_files), {}, {}};
  return {std::nullopt, {}, std::move(issues), std::move(foreign_)};
}

void Reader::ReadText(const std::string& text) {
  if (const auto bad = FindBadByte(text)) {
    Report(Position{bad->line, bad->column}, bad->what);
    return;
  }
  const YamlDocument document = ParseYaml(text);
  if (!YamlView(document.root).Has("nodes")) foreign_ = RecogniseFile(text, file());
  if (foreign_) return Report(Position{}, NoSpec(*foreign_, file()));
  for (const auto& [where, what] : document.mistakes) Report(where, what);
  if (!document.mistakes.empty() && !document.error) return;  // further issues follow from these
  if (document.second_document) {
    Report(*document.second_document,
           "a second YAML document begins here; a resource spec is a single one");
  }
  if (document.error) {
    // The parser stops here, so there is only one.
    const Position at = document.error->position;
    Report(at, "YAML syntax error: " + document.error->what + SyntaxHint(text, at.line));
  } else if (!document.root || document.root->kind == Kind::kNull) {
    Report(Position{1, 1}, "the file is empty; it should have a list 'nodes'");
  } else {
    ReadDocument(*document.root);
  }
}

void Reader::ReadDocument(const YamlValue& root) {
  if (root.kind == Kind::kText) {
    return Report(root,
                  "the spec is a single value; it should be a mapping with the key 'nodes'; for "
                  "a list of hosts: autodist init --from " +
                      base::Printable(base::ShellQuote(file())));
  }
  const auto given = ReadKeys(*this, root, "the spec", Keys(), *this, IsOfNoSpec);
  if (!given) return;
  const auto nodes = given->find("nodes");
  if (nodes == given->end()) Report(root, "key 'nodes' is missing: the list of machines");
  UseSshSection();
  for (Node& node : spec_.nodes) {
    const auto group = spec_.ssh.find(node.ssh_config);
    // Containers have other paths.
    const bool here = node.chief && group != spec_.ssh.end() && group->second.via.empty();
    if (here) TakeEnvironment(group->second, node);
  }
  // A node with login settings may be another machine.
  if (spec_.nodes.size() == 1 && spec_.nodes[0].ssh_config.empty()) spec_.nodes[0].chief = true;
  CheckWhole(spec_, node_positions_, nodes == given->end() ? root.position : nodes->second,
             [&](Position where, const std::string& what) { Report(where, what); });
}

// Gives nodes without a group the login of the whole spec. After an invalid section all groups are
// assumed to exist, because missing ones follow from that issue.
void Reader::UseSshSection() {
  SshSection& section = ssh_;
  spec_.ssh = std::move(section.groups);
  std::set<std::string> named;
  for (const Node& node : spec_.nodes) named.insert(node.ssh_config);
  named.erase("");
  const bool flat = section.login.has_value();
  if (flat && named.size() > 1) {
    Report(section.where, "'ssh' is one login for all nodes, but they name the groups " +
                              base::Alternatives({named.begin(), named.end()}) +
                              "; put each group's settings below its name");
    section.unread = true;
  }
  if (!flat && !section.unread) return;
  const std::string name = named.size() == 1 ? *named.begin() : "workers";
  spec_.ssh[name] = section.login.value_or(SshGroup());
  for (Node& node : spec_.nodes) {
    if (!node.chief && spec_.nodes.size() > 1 && node.ssh_config.empty()) node.ssh_config = name;
    if (section.unread) spec_.ssh.emplace(node.ssh_config, SshGroup());
  }
}

// Accepts blocks for anchors, which other specs and docker compose have: "x-gpu: &gpu", ".gpu:
// &gpu", and any other block that only aliases use.
bool Reader::IsOfNoSpec(const YamlValue& key, const YamlValue& value) {
  if (key.text.starts_with("x-") || key.text.starts_with('.') || value.aliased) return true;
  return std::ranges::any_of(value.items, &YamlValue::aliased);
}

void Reader::ReadNodes(const YamlValue& nodes) {
  if (nodes.kind != Kind::kList || nodes.items.empty()) {
    Report(nodes, std::string("'nodes' is ") +
                      (nodes.kind == Kind::kList ? "an empty list" : TypeName(nodes)) +
                      "; it should be a list of machines, such as\n"
                      "  nodes:\n    - address: 10.0.0.1\n      gpus: [0, 1]");
    return;
  }
  ForEach(nodes, [&](const YamlValue& node) { ReadNode(node); });
}

void Reader::ReadNode(const YamlValue& yaml) {
  const size_t values_before = values();
  if (const auto entry = ReadNodeEntry(*this, yaml)) {
    AddNodes(yaml, *entry, values() - values_before);
  }
}

// Adds the nodes of the entry, which has `size` values.
void Reader::AddNodes(const YamlValue& yaml, const NodeEntry& entry, size_t size) {
  std::vector<Node> nodes =
      NodesOf(entry, [&](Position where, const std::string& what) { Report(where, what); });
  range_hosts_ += nodes.size() > 1 ? nodes.size() : 0;
  if (range_hosts_ > kMaxHosts) {
    Report(entry.at.address, TooManyHosts());
    nodes.resize(1);
    range_hosts_ = 0;
  }
  CountCopies(yaml, size, nodes.size() - 1);
  node_positions_.resize(node_positions_.size() + nodes.size(), entry.at);
  std::ranges::move(nodes, std::back_inserter(spec_.nodes));
}

void Reader::ReadSharedPaths(const KeyedValue& in, Reader& to) {
  if (!in.IsList("a list of folders, such as [/shared, /home]")) return;
  std::set<std::string> seen;
  in.reader.ForEach(in.value, [&](const YamlValue& entry) {
    const auto path = in.reader.ReadAs(entry, in.name, ReadAbsolutePath);
    if (path && seen.insert(*path).second) {
      to.spec_.shared_paths.push_back(*path);
    } else if (path) {
      in.reader.Report(entry, "'shared_paths': " + Shown(entry) + " is listed twice; keep one");
    }
  });
}

}  // namespace

std::string Issue::ToString() const {
  std::string place = file;
  for (const int number : {line, column}) {
    if (number > 0) place += ":" + std::to_string(number);
  }
  return place + ": " + what;
}

std::vector<KeyText> SpecKeyTexts() { return TextsOf(Reader::Keys()); }

ReadOutcome ReadSpec(const std::string& text, const std::string& file) {
  if (text.size() > kLargestSpec) {
    return {std::nullopt, {}, {{file, 0, 0, "larger than 1 MiB; this is not a resource spec"}}, {}};
  }
  return Reader(file).Read(text);
}

ReadOutcome ReadSpecFile(const std::string& path) {
  const auto text = base::ReadTextFile(path, kLargestSpec);
  if (text.ok()) return ReadSpec(*text, path);
  // The message has the path.
  return {std::nullopt, {}, {{"cannot read the spec", 0, 0, Message(text.status())}}, {}};
}

}  // namespace autodist::spec
