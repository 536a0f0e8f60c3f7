#include "spec/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>
#include <string_view>
#include <tuple>

#include "base/fd.h"
#include "base/ip_address.h"
#include "base/nearest.h"
#include "spec/text_check.h"

namespace autodist::spec {
namespace {

constexpr size_t kLargestSpec = 1 << 20;  // bytes; a thousand nodes fit in a tenth of it

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted(text.substr(0, kLongest));
  if (text.size() > kLongest) quoted += "…";
  return "'" + quoted + "'";
}

const char* TypeName(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    case YAML::NodeType::Scalar:
      return "a single value";
    default:
      return "empty";
  }
}

// What makes two addresses the same one: numeric form, or the host name in lower case.
std::string Identity(const std::string& address) {
  if (const auto ip = base::IpAddress::Parse(address)) return ip->ToString();
  std::string lower = address;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool IsLoopback(const std::string& address) {
  const auto ip = base::IpAddress::Parse(address);
  return ip ? ip->IsLoopback() : Identity(address) == "localhost";
}

bool IsHostName(const std::string& text) {
  return !text.empty() && text.size() <= 253 && text[0] != '-' && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

bool IsVariableName(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Takes note of where documents start, and of nothing else.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  YAML::Mark last;
};

// YAML::Load stops after the first document, and YAML::LoadAll loops for ever on some texts.
std::optional<YAML::Mark> SecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) {
    return std::nullopt;
  }
  return starts.last;
}

// Walks the document once, collecting problems instead of stopping at the first.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  ReadOutcome Read(const std::string& text);

 private:
  using Handler = std::function<void(const YAML::Node& value)>;
  using Handlers = std::vector<std::pair<std::string, Handler>>;

  void Report(const YAML::Mark& mark, const std::string& what) {
    problems_.push_back({file_, mark.line + 1, mark.column + 1, what});
  }

  void ReadDocument(const YAML::Node& root);
  void ReadNodes(const YAML::Node& nodes);
  void ReadNode(const YAML::Node& yaml);
  void ReadSsh(const YAML::Node& ssh);
  SshGroup ReadSshGroup(const YAML::Node& yaml, const std::string& name);
  void ReadSharedEnvs(const YAML::Node& yaml, SshGroup& group);
  void CheckWhole(const YAML::Node& root);

  // Calls the handler of each key; reports unknown and repeated keys. False if not a mapping.
  bool ReadMapping(const YAML::Node& yaml, const std::string& where, const Handlers& handlers);

  std::string ReadText(const YAML::Node& yaml, const std::string& key);
  std::vector<uint32_t> ReadDevices(const YAML::Node& yaml, const std::string& key);
  std::string ReadAddress(const YAML::Node& yaml);

  std::string file_;
  std::vector<Problem> problems_;
  ResourceSpec spec_;
  std::vector<YAML::Mark> node_marks_;      // where each node of spec_ stands
  std::vector<YAML::Mark> ssh_name_marks_;  // where each node names its ssh group
};

ReadOutcome Reader::Read(const std::string& text) {
  if (const auto bad = FindBadByte(text)) {
    problems_.push_back({file_, bad->line, bad->column, bad->what});
    return {std::nullopt, problems_};
  }
  try {
    if (const auto second = SecondDocument(text)) {
      Report(*second, "a second YAML document begins here; a resource spec is a single one");
    }
    ReadDocument(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    // Syntax errors end the parse, so there is only ever one.
    Report(error.mark.is_null() ? YAML::Mark() : error.mark, "YAML syntax error: " + error.msg);
  }
  if (problems_.empty()) return {std::move(spec_), {}};
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  return {std::nullopt, std::move(problems_)};
}

bool Reader::ReadMapping(const YAML::Node& yaml, const std::string& where,
                         const Handlers& handlers) {
  if (!yaml.IsMap()) {
    Report(yaml.Mark(), where + " is " + TypeName(yaml) +
                            "; it should be a mapping with the keys " + base::Alternatives([&] {
                              std::vector<std::string> keys;
                              for (const auto& [key, handler] : handlers) keys.push_back(key);
                              return keys;
                            }()));
    return false;
  }
  std::set<std::string> seen;
  for (const auto& entry : yaml) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const auto handler = std::find_if(handlers.begin(), handlers.end(),
                                      [&](const auto& known) { return known.first == key; });
    if (!seen.insert(key).second) {
      Report(entry.first.Mark(),
             "key " + Quoted(key) + " appears twice in " + where + "; keep one of the two");
    } else if (handler != handlers.end()) {
      handler->second(entry.second);
    } else {
      std::vector<std::string> keys;
      for (const auto& known : handlers) keys.push_back(known.first);
      const std::string near = base::Nearest(key, keys);
      Report(entry.first.Mark(), "unknown key " + Quoted(key) + " in " + where + "; " +
                                     (near.empty() ? "known keys are " + base::Alternatives(keys)
                                                   : "did you mean '" + near + "'?"));
    }
  }
  return true;
}

void Reader::ReadDocument(const YAML::Node& root) {
  if (root.IsNull()) {
    Report(YAML::Mark(), "the file is empty; it should have a list 'nodes'");
    return;
  }
  bool has_nodes = false;
  const bool mapping = ReadMapping(root, "the spec",
                                   {{"nodes",
                                     [&](const YAML::Node& value) {
                                       has_nodes = true;
                                       ReadNodes(value);
                                     }},
                                    {"ssh", [&](const YAML::Node& value) { ReadSsh(value); }}});
  if (mapping && !has_nodes) Report(root.Mark(), "key 'nodes' is missing: the list of machines");
  if (mapping) CheckWhole(root);
}

void Reader::ReadNodes(const YAML::Node& nodes) {
  if (!nodes.IsSequence() || nodes.size() == 0) {
    Report(nodes.Mark(), std::string("'nodes' is ") +
                             (nodes.IsSequence() ? "an empty list" : TypeName(nodes)) +
                             "; it should be a list of machines, such as\n"
                             "  nodes:\n    - address: 10.0.0.1\n      gpus: [0, 1]");
    return;
  }
  for (const YAML::Node& node : nodes) ReadNode(node);
}

void Reader::ReadNode(const YAML::Node& yaml) {
  Node node;
  bool has_address = false;
  YAML::Mark ssh_mark = yaml.Mark();
  const bool mapping = ReadMapping(
      yaml, "a node",
      {{"address",
        [&](const YAML::Node& value) {
          has_address = true;
          node.address = ReadAddress(value);
        }},
       {"cpus", [&](const YAML::Node& value) { node.cpus = ReadDevices(value, "cpus"); }},
       {"gpus", [&](const YAML::Node& value) { node.gpus = ReadDevices(value, "gpus"); }},
       {"chief",
        [&](const YAML::Node& value) {
          if (!YAML::convert<bool>::decode(value, node.chief)) {
            Report(value.Mark(), "'chief' is " + Quoted(value.IsScalar() ? value.Scalar() : "") +
                                     "; it should be true or false");
          }
        }},
       {"ssh_config",
        [&](const YAML::Node& value) {
          ssh_mark = value.Mark();
          node.ssh_config = ReadText(value, "ssh_config");
        }},
       {"network_bandwidth", [&](const YAML::Node& value) {
          if (!YAML::convert<double>::decode(value, node.network_bandwidth) ||
              !(node.network_bandwidth > 0)) {
            Report(value.Mark(), "'network_bandwidth' should be a positive number of Gbit/s");
          }
        }}});
  if (!mapping) return;
  if (!has_address) Report(yaml.Mark(), "a node without 'address': its IP address or host name");
  if (node.cpus.empty()) node.cpus = {0};
  spec_.nodes.push_back(std::move(node));
  node_marks_.push_back(yaml["address"] ? yaml["address"].Mark() : yaml.Mark());
  ssh_name_marks_.push_back(ssh_mark);
}

std::string Reader::ReadText(const YAML::Node& yaml, const std::string& key) {
  if (yaml.IsScalar() && !yaml.Scalar().empty()) return yaml.Scalar();
  Report(yaml.Mark(), "'" + key + "' is " + (yaml.IsScalar() ? "empty" : TypeName(yaml)) +
                          "; it should be a text");
  return "";
}

std::string Reader::ReadAddress(const YAML::Node& yaml) {
  std::string address = ReadText(yaml, "address");
  if (address.empty() || base::IpAddress::Parse(address) || IsHostName(address)) return address;
  Report(yaml.Mark(), Quoted(address) + " is neither an IPv4 or IPv6 address nor a host name" +
                          (address.find(':') != std::string::npos
                               ? "; a port belongs to the ssh group, as 'port: 2222'"
                               : ""));
  return "";
}

std::vector<uint32_t> Reader::ReadDevices(const YAML::Node& yaml, const std::string& key) {
  if (!yaml.IsSequence()) {
    Report(yaml.Mark(), "'" + key + "' is " + TypeName(yaml) +
                            "; it should be a list of device numbers, such as [0, 1]");
    return {};
  }
  std::vector<uint32_t> devices;
  for (const YAML::Node& entry : yaml) {
    constexpr int kLargest = 4095;
    int device = 0;
    if (!YAML::convert<int>::decode(entry, device) || device < 0 || device > kLargest) {
      Report(entry.Mark(),
             "in '" + key + "': " + (entry.IsScalar() ? Quoted(entry.Scalar()) : TypeName(entry)) +
                 " is not a device number; they are whole numbers from 0");
    } else if (std::count(devices.begin(), devices.end(), static_cast<uint32_t>(device)) > 0) {
      Report(entry.Mark(), "in '" + key + "': device " + std::to_string(device) +
                               " is listed twice; each device runs one rank");
    } else {
      devices.push_back(static_cast<uint32_t>(device));
    }
  }
  return devices;
}

void Reader::ReadSsh(const YAML::Node& ssh) {
  if (!ssh.IsMap()) {
    Report(ssh.Mark(), std::string("'ssh' is ") + TypeName(ssh) +
                           "; it should map names of your choice to groups of settings");
    return;
  }
  for (const auto& entry : ssh) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (name.empty()) {
      Report(entry.first.Mark(), "an ssh group without a name");
    } else if (spec_.ssh.contains(name)) {
      Report(entry.first.Mark(), "ssh group " + Quoted(name) + " appears twice; keep one");
    } else {
      spec_.ssh[name] = ReadSshGroup(entry.second, name);
    }
  }
}

SshGroup Reader::ReadSshGroup(const YAML::Node& yaml, const std::string& name) {
  SshGroup group;
  const std::string where = "ssh group " + Quoted(name);
  bool has_key = false;
  const bool mapping = ReadMapping(
      yaml, where,
      {{"key_file",
        [&](const YAML::Node& value) {
          has_key = true;
          group.key_file = ReadText(value, "key_file");
        }},
       {"username", [&](const YAML::Node& value) { group.username = ReadText(value, "username"); }},
       {"port",
        [&](const YAML::Node& value) {
          int port = 0;
          if (!YAML::convert<int>::decode(value, port) || port < 1 || port > 65535) {
            Report(value.Mark(), "'port' is " +
                                     (value.IsScalar() ? Quoted(value.Scalar()) : TypeName(value)) +
                                     "; it should be a number from 1 to 65535");
          } else {
            group.port = static_cast<uint16_t>(port);
          }
        }},
       {"python_venv",
        [&](const YAML::Node& value) { group.python_venv = ReadText(value, "python_venv"); }},
       {"shared_envs", [&](const YAML::Node& value) { ReadSharedEnvs(value, group); }}});
  if (mapping && !has_key) {
    Report(yaml.Mark(), where + " has no 'key_file': the path of the private key on the chief");
  }
  return group;
}

void Reader::ReadSharedEnvs(const YAML::Node& yaml, SshGroup& group) {
  if (!yaml.IsMap()) {
    Report(yaml.Mark(), std::string("'shared_envs' is ") + TypeName(yaml) +
                            "; it should map variable names to values");
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : yaml) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!IsVariableName(name)) {
      Report(entry.first.Mark(), Quoted(name) + " is not a name for an environment variable");
    } else if (!seen.insert(name).second) {
      Report(entry.first.Mark(), "variable " + Quoted(name) + " appears twice; keep one");
    } else if (!entry.second.IsScalar() && !entry.second.IsNull()) {
      Report(entry.second.Mark(), "the value of " + Quoted(name) + " is " + TypeName(entry.second) +
                                      "; it should be a text");
    } else {
      group.shared_envs.emplace_back(name, entry.second.IsNull() ? "" : entry.second.Scalar());
    }
  }
}

// What only the whole spec tells: the chief, the names of ssh groups, unique addresses.
void Reader::CheckWhole(const YAML::Node& root) {
  std::vector<std::string> groups;
  for (const auto& [name, group] : spec_.ssh) groups.push_back(name);
  const bool several = spec_.nodes.size() > 1;
  std::map<std::string, int> first_line;  // of each address
  int chief_line = 0;

  for (size_t i = 0; i < spec_.nodes.size(); ++i) {
    Node& node = spec_.nodes[i];
    const YAML::Mark mark = node_marks_[i];
    if (!several) node.chief = true;
    if (node.chief && chief_line > 0) {
      Report(mark, "a second chief; the first is on line " + std::to_string(chief_line) +
                       ": mark only the machine that you launch from");
    } else if (node.chief) {
      chief_line = mark.line + 1;
    }
    if (!node.ssh_config.empty() && !spec_.ssh.contains(node.ssh_config)) {
      const std::string near = base::Nearest(node.ssh_config, groups);
      Report(ssh_name_marks_[i],
             "ssh group " + Quoted(node.ssh_config) + " is not defined; " +
                 (groups.empty() ? "the spec has no 'ssh' groups"
                                 : "defined are: " + base::Alternatives(groups)) +
                 (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    if (several && !node.chief && node.ssh_config.empty()) {
      Report(mark, (node.address.empty() ? "this node" : "node " + Quoted(node.address)) +
                       " has no 'ssh_config', so the chief does not know how to log in; name " +
                       (groups.empty() ? "a group under 'ssh'" : base::Alternatives(groups)));
    }
    if (node.address.empty()) continue;
    if (several && IsLoopback(node.address)) {
      Report(mark, Quoted(node.address) +
                       " means another machine on each node; with several nodes give the address "
                       "under which the others reach this one");
    }
    const auto [first, is_new] = first_line.emplace(Identity(node.address), mark.line + 1);
    if (!is_new) {
      Report(mark, "address " + Quoted(node.address) + " is already that of the node on line " +
                       std::to_string(first->second) +
                       "; list each machine once, with all its devices");
    }
  }
  if (several && chief_line == 0) {
    Report(root["nodes"].Mark(),
           "no node is the chief; add 'chief: true' to the machine that you launch from");
  }
}

}  // namespace

std::string Problem::ToString() const {
  if (line == 0) return file + ": " + what;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
}

ReadOutcome ReadSpec(const std::string& text, const std::string& file) {
  if (text.size() > kLargestSpec) {
    return {std::nullopt, {{file, 0, 0, "larger than 1 MiB; this is not a resource spec"}}};
  }
  return Reader(file).Read(text);
}

ReadOutcome ReadSpecFile(const std::string& path) {
  const auto text = base::ReadFile(path, kLargestSpec);
  if (!text.ok())
    return {std::nullopt, {{path, 0, 0, Message(Annotate(text.status(), "cannot read the spec"))}}};
  return ReadSpec(*text, path);
}

}  // namespace autodist::spec
