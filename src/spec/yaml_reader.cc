#include "spec/yaml_reader.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "base/did_you_mean.h"
#include "base/text_file.h"
#include "spec/address.h"
#include "spec/gpu_name.h"
#include "spec/host_range.h"
#include "spec/node_entry.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/spec_check.h"
#include "spec/ssh_section.h"
#include "spec/text_check.h"
#include "spec/value_reader.h"
#include "spec/via.h"
#include "spec/yaml_tree.h"
#include "spec/yaml_view.h"

namespace autodist::spec {
namespace {

constexpr size_t kLargestSpec = 1 << 20;  // bytes; a thousand nodes fit in a tenth of it

using Kind = YamlValue::Kind;

// Says what to do where a line is indented by a tab, or where YAML took "[host]:22", or within
// braces "gpu[1-4]", for a list, which is a syntax error a little later.
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

// Walks the document once, collecting problems instead of stopping at the first.
class Reader : private ValueReader {
 public:
  explicit Reader(std::string file) : ValueReader(std::move(file)) {}

  ReadOutcome Read(const std::string& text);

 private:
  void ReadText(const std::string& text);
  void ReadDocument(const YamlValue& root);
  void ReadNodes(const YamlValue& nodes);
  void ReadNode(const YamlValue& yaml);
  bool ReadChief(const YamlValue& value);
  std::optional<double> ReadBandwidth(const YamlValue& value);
  void UseSshSection(SshSection section);
  static bool IsOfNoSpec(const YamlValue& key, const YamlValue& value);
  void ReadSharedPaths(const YamlValue& yaml);

  std::vector<uint32_t> ReadDevices(const YamlValue& yaml, const std::string& key);
  // What stands in the list is a number, or the name of a GPU.
  void ReadGpus(const YamlValue& yaml, Node& node);
  bool CheckDeviceList(const YamlValue& yaml, const std::string& key);
  // A device that is in `seen` already is a problem.
  bool IsNew(const YamlValue& entry, const std::string& key, const std::string& device,
             std::set<std::string>& seen);
  std::optional<uint32_t> ReadDevice(const YamlValue& entry, const std::string& key);
  std::vector<std::string> ReadDeviceIps(const YamlValue& yaml);
  // The handler of a key with a host, or a range of hosts.
  std::pair<std::string, Handler> Hosts(const char* key, Position& at,
                                        std::vector<std::string>& to);
  std::vector<std::string> ReadHostKeys(const YamlValue& yaml);
  std::vector<HostAndPort> ReadAddress(const YamlValue& yaml);
  void AddNodes(const YamlValue& yaml, const NodeEntry& entry, size_t size);

  ResourceSpec spec_;
  std::vector<NodePositions> node_positions_;  // of each node of spec_
  size_t range_hosts_ = 0;                     // that ranges stand for
  std::vector<KeyFile> key_files_;
  std::optional<ForeignFile> foreign_;
};

ReadOutcome Reader::Read(const std::string& text) {
  std::vector<Problem> problems = Collect([&] { ReadText(text); });
  if (problems.empty()) return {std::move(spec_), std::move(key_files_), {}, {}};
  return {std::nullopt, {}, std::move(problems), std::move(foreign_)};
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
  if (!document.mistakes.empty() && !document.error) return;  // the rest is their consequence
  if (document.second_document) {
    Report(*document.second_document,
           "a second YAML document begins here; a resource spec is a single one");
  }
  if (document.error) {
    // It ends the parse, so there is only ever one.
    const Position at = document.error->position;
    Report(at, "YAML syntax error: " + document.error->what + SyntaxHint(text, at.line));
  } else if (!document.root || document.root->kind == Kind::kNull) {
    Report(Position{1, 1}, "the file is empty; it should have a list 'nodes'");
  } else {
    ReadDocument(*document.root);
  }
}

void Reader::ReadDocument(const YamlValue& root) {
  const YamlValue* nodes = nullptr;
  SshSection ssh;
  const bool mapping =
      ReadMapping(root, "the spec",
                  {{"nodes",
                    [&](const YamlValue& value) {
                      nodes = &value;
                      ReadNodes(value);
                    }},
                   {"ssh", [&](const YamlValue& value) { ssh = ReadSsh(*this, value); }},
                   {"shared_paths", [&](const YamlValue& value) { ReadSharedPaths(value); }}},
                  IsOfNoSpec);
  if (!mapping) return;
  if (!nodes) Report(root, "key 'nodes' is missing: the list of machines");
  UseSshSection(std::move(ssh));
  // With a way to log in it may be another machine.
  if (spec_.nodes.size() == 1 && spec_.nodes[0].ssh_config.empty()) spec_.nodes[0].chief = true;
  CheckWhole(spec_, node_positions_, nodes ? nodes->position : root.position,
             [&](Position where, const std::string& what) { Report(where, what); });
}

// Gives nodes that name no group the login of the whole spec. Where the section was not understood,
// all groups are taken to be there: what is missing is only a consequence.
void Reader::UseSshSection(SshSection section) {
  spec_.ssh = std::move(section.groups);
  key_files_ = std::move(section.key_files);
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

// Blocks for anchors, which other specs and docker compose have: "x-gpu: &gpu", ".gpu: &gpu", and
// whatever is only there for its aliases.
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

bool Reader::ReadChief(const YamlValue& value) {
  const auto chief = ReadBool(value.text);
  if (!chief) Report(value, "'chief' is " + Shown(value) + "; it should be true or false");
  return chief.value_or(false);
}

std::optional<double> Reader::ReadBandwidth(const YamlValue& value) {
  const auto bandwidth = ReadPositiveNumber(value.text);
  if (!bandwidth) Report(value, "'network_bandwidth' should be a positive number of Gbit/s");
  return bandwidth;
}

void Reader::ReadNode(const YamlValue& yaml) {
  NodeEntry entry{{}, NodePositions::At(yaml.position), {}, {}, {}};
  Node& node = entry.node;
  NodePositions& at = entry.at;
  bool has_address = false;
  bool has_cpus = false;
  bool has_gpus = false;
  const size_t values_before = values();
  const bool mapping = ReadMapping(
      yaml, "a node",
      {{"address",
        [&](const YamlValue& value) {
          has_address = true;
          at.address = value.position;
          entry.addresses = ReadAddress(value);
        }},
       {"cpus",
        [&](const YamlValue& value) {
          has_cpus = true;
          node.cpus = ReadDevices(value, "cpus");
        }},
       {"gpus",
        [&](const YamlValue& value) {
          has_gpus = true;
          ReadGpus(value, node);
        }},
       {"device_ips",
        [&](const YamlValue& value) {
          at.device_ips = value.position;
          node.device_ips = ReadDeviceIps(value);
        }},
       {"chief",
        [&](const YamlValue& value) {
          at.chief = value.position;
          node.chief = ReadChief(value);
        }},
       {"ssh_config",
        [&](const YamlValue& value) {
          at.ssh_config = value.position;
          node.ssh_config = ReadString(value, "ssh_config");
        }},
       {"network_bandwidth",
        [&](const YamlValue& value) {
          node.network_bandwidth = ReadBandwidth(value).value_or(node.network_bandwidth);
        }},
       Text("interface", node.interface, CheckInterface),
       Hosts("data_address", at.data_address, entry.data_addresses),
       Hosts("ssh_address", at.ssh_address, entry.ssh_addresses),
       {"host_keys",
        [&](const YamlValue& value) {
          at.host_keys = value.position;
          node.host_keys = ReadHostKeys(value);
        }},
       Text("python_venv", node.python_venv),
       {"shared_envs",
        [&](const YamlValue& value) { ReadSharedEnvs(*this, value, node.shared_envs); }}});
  if (!mapping) return;
  if (!has_address) Report(yaml, "a node without 'address': its IP address or host name");
  if (node.cpus.empty() && !(has_cpus && has_gpus)) node.cpus = {0};
  AddNodes(yaml, entry, values() - values_before);
}

// The entry has so many values.
void Reader::AddNodes(const YamlValue& yaml, const NodeEntry& entry, size_t size) {
  std::vector<Node> nodes =
      NodesOf(entry, [&](Position where, const std::string& what) { Report(where, what); });
  range_hosts_ += nodes.size() > 1 ? nodes.size() : 0;
  if (range_hosts_ > kMostHosts) {
    Report(entry.at.address, TooManyHosts());
    nodes.resize(1);
    range_hosts_ = 0;
  }
  CountCopies(yaml, size, nodes.size() - 1);
  node_positions_.resize(node_positions_.size() + nodes.size(), entry.at);
  std::ranges::move(nodes, std::back_inserter(spec_.nodes));
}

std::vector<HostAndPort> Reader::ReadAddress(const YamlValue& yaml) {
  if (yaml.kind == Kind::kList) {
    Report(yaml,
           "'address' is a list; it should be a text, which in brackets needs quotes: "
           "'[fd00::2]'");
    return {};
  }
  const std::string text = ReadString(yaml, "address");
  if (text.empty()) return {};
  auto read = ReadHostsAndPort(text);
  if (read.ok()) return *std::move(read);
  Report(yaml, Message(read.status()));
  return {};
}

bool Reader::CheckDeviceList(const YamlValue& yaml, const std::string& key) {
  if (yaml.kind == Kind::kText && !yaml.text.empty()) {
    Report(yaml, "'" + key + "' is " + Shown(yaml) +
                     "; it should be a list of device numbers, such as [0, 1]; `autodist init "
                     "--hosts HOST` asks a node which it has");
    return false;
  }
  return CheckKind(yaml, Kind::kList, Quoted(key), "a list of device numbers, such as [0, 1]");
}

bool Reader::IsNew(const YamlValue& entry, const std::string& key, const std::string& device,
                   std::set<std::string>& seen) {
  if (seen.insert(device).second) return true;
  Report(entry,
         "in '" + key + "': device " + device + " is listed twice; each device runs one rank");
  return false;
}

std::optional<uint32_t> Reader::ReadDevice(const YamlValue& entry, const std::string& key) {
  constexpr uint32_t kLargest = 4095;
  const auto device = ReadWholeNumber(entry.text, kLargest);
  if (!device) {
    Report(entry, "in '" + key + "': " + Shown(entry) +
                      " is not a device number; they are whole numbers from 0" +
                      (key == "gpus" ? ", or UUIDs (GPU-..., MIG-...)" : ""));
  }
  return device;
}

std::vector<uint32_t> Reader::ReadDevices(const YamlValue& yaml, const std::string& key) {
  if (!CheckDeviceList(yaml, key)) return {};
  std::vector<uint32_t> devices;
  std::set<std::string> seen;
  ForEach(yaml, [&](const YamlValue& entry) {
    const auto device = ReadDevice(entry, key);
    if (device && IsNew(entry, key, std::to_string(*device), seen)) devices.push_back(*device);
  });
  return devices;
}

void Reader::ReadGpus(const YamlValue& yaml, Node& node) {
  constexpr char kKey[] = "gpus";
  if (!CheckDeviceList(yaml, kKey)) return;
  std::set<std::string> seen;
  bool any_uuid = false;
  ForEach(yaml, [&](const YamlValue& entry) {
    const bool uuid = IsGpuUuid(entry.text);
    const auto device = uuid ? static_cast<uint32_t>(node.gpus.size()) : ReadDevice(entry, kKey);
    if (!device || !IsNew(entry, kKey, uuid ? entry.text : std::to_string(*device), seen)) return;
    any_uuid |= uuid;
    node.gpus.push_back(*device);
    node.gpu_uuids.push_back(uuid ? entry.text : "");
  });
  if (!any_uuid) node.gpu_uuids.clear();
}

std::vector<std::string> Reader::ReadDeviceIps(const YamlValue& yaml) {
  constexpr char kWanted[] = "a list of IPv4 addresses, one for each of 'gpus'";
  if (!CheckKind(yaml, Kind::kList, "'device_ips'", kWanted)) return {};
  std::vector<std::string> ips;
  ForEach(yaml, [&](const YamlValue& entry) {
    if (const auto ip = ReadAs(entry, "device_ips", ReadIpv4)) ips.push_back(*ip);
  });
  return ips;
}

std::pair<std::string, Reader::Handler> Reader::Hosts(const char* key, Position& at,
                                                      std::vector<std::string>& to) {
  return {key, [this, key, &at, &to](const YamlValue& value) {
            at = value.position;
            if (auto hosts = ReadAs(value, key, ReadHosts)) to = *std::move(hosts);
          }};
}

std::vector<std::string> Reader::ReadHostKeys(const YamlValue& yaml) {
  constexpr char kWanted[] = "a list of public keys, such as ['ssh-ed25519 AAAA...']";
  if (!CheckKind(yaml, Kind::kList, "'host_keys'", kWanted)) return {};
  std::vector<std::string> keys;
  ForEach(yaml, [&](const YamlValue& entry) {
    if (const auto key = ReadAs(entry, "host_keys", ReadHostKey)) keys.push_back(*key);
  });
  return keys;
}

void Reader::ReadSharedPaths(const YamlValue& yaml) {
  constexpr char kWanted[] = "a list of folders, such as [/shared, /home]";
  if (!CheckKind(yaml, Kind::kList, "'shared_paths'", kWanted)) return;
  std::set<std::string> seen;
  ForEach(yaml, [&](const YamlValue& entry) {
    const auto path = ReadAs(entry, "shared_paths", ReadAbsolutePath);
    if (path && seen.insert(*path).second) {
      spec_.shared_paths.push_back(*path);
    } else if (path) {
      Report(entry, "'shared_paths': " + Shown(entry) + " is listed twice; keep one");
    }
  });
}

}  // namespace

std::string Problem::ToString() const {
  if (line == 0) return file + ": " + what;
  if (column == 0) return file + ":" + std::to_string(line) + ": " + what;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
}

ReadOutcome ReadSpec(const std::string& text, const std::string& file) {
  if (text.size() > kLargestSpec) {
    return {std::nullopt, {}, {{file, 0, 0, "larger than 1 MiB; this is not a resource spec"}}, {}};
  }
  return Reader(file).Read(text);
}

ReadOutcome ReadSpecFile(const std::string& path) {
  const auto text = base::ReadTextFile(path, kLargestSpec);
  if (text.ok()) return ReadSpec(*text, path);
  // Its message has the path.
  return {std::nullopt, {}, {{"cannot read the spec", 0, 0, Message(text.status())}}, {}};
}

}  // namespace autodist::spec
