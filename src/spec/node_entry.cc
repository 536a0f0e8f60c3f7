#include "spec/node_entry.h"

#include <set>

#include "base/quantity.h"
#include "spec/host_list.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/ssh_section.h"
#include "spec/value_reader.h"

namespace autodist::spec {
namespace {

// Checks that the entry can stand for several nodes.
bool CheckSeveral(const NodeEntry& entry, const ReportIssue& report) {
  const std::string machines = base::Count(entry.addresses.size(), "machine");
  if (entry.node.chief) {
    report(entry.at.chief, "'chief' with an address that stands for " + machines +
                               "; give the one that you launch from a separate entry");
    return false;
  }
  const bool ips = !entry.node.device_ips.empty();
  if (!ips && entry.node.host_keys.empty()) return true;
  report(ips ? entry.at.device_ips : entry.at.host_keys,
         Quoted(ips ? "device_ips" : "host_keys") +
             " are those of one machine, and 'address' stands for " + machines +
             "; give each a separate entry");
  return false;
}

// Checks that there is one address for each of `machines`, or none.
bool CheckAsMany(const std::vector<std::string>& addresses, size_t machines, const char* key,
                 Position at, const ReportIssue& report) {
  if (addresses.empty() || machines == 0 || addresses.size() == machines) return true;
  report(at, Quoted(key) + " stands for " + base::Count(addresses.size(), "machine") +
                 ", and 'address' for " + std::to_string(machines) + "; give one for each");
  return false;
}

// Parses a host, or a range of hosts.
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

// Parses "host", "[host]" or "[host]:port"; the host may be a range.
Result<std::vector<HostAndPort>> ReadHostsAndPort(const std::string& text) {
  // In "[gpu[01-16]]:2222" the outer brackets enclose the range.
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

constexpr uint32_t kMaxDevice = 4095;

void ReadAddress(const KeyedValue& in, NodeEntry& entry) {
  if (in.value.kind == YamlValue::Kind::kList) {
    in.Report(
        "'address' is a list; it should be a text, which in brackets needs quotes: '[fd00::2]'");
    return;
  }
  const std::string text = in.reader.ReadLiteral(in.value, in.name);
  if (text.empty()) return;
  if (auto hosts = ReadHostsAndPort(text); hosts.ok()) {
    entry.addresses = *std::move(hosts);
  } else {
    in.Report(Message(hosts.status()));
  }
}

bool IsDeviceList(const KeyedValue& in) {
  if (in.value.kind == YamlValue::Kind::kText && !in.value.text.empty()) {
    const bool uncounted = in.value.text == "unknown";
    in.Report(Quoted(in.name) + " is " + Shown(in.value) +
              "; it should be a list of device numbers, such as [0, 1]; " +
              (uncounted ? "`autodist init` writes that, and why, where it cannot count GPUs: "
                           "correct the cause and repeat it, or write the numbers by hand"
                         : "`autodist init --hosts` asks nodes which they have"));
    return false;
  }
  return in.IsList("a list of device numbers, such as [0, 1]");
}

// Calls `add` for each device with its number or, if the list may have UUIDs, with its UUID.
// Reports repeated devices.
template <typename Add>
void ForEachDevice(const KeyedValue& in, bool uuids, const Add& add) {
  if (!IsDeviceList(in)) return;
  std::set<std::string> seen;
  in.reader.ForEach(in.value, [&](const YamlValue& entry) {
    const bool uuid = uuids && IsGpuUuid(entry.text);
    const auto number = uuid ? 0 : ReadWholeNumber(entry.text, kMaxDevice);
    const std::string name = uuid || !number ? entry.text : std::to_string(*number);
    if (!number) {
      in.reader.Report(entry, "in " + Quoted(in.name) + ": " + Shown(entry) +
                                  " is not a device number; they are whole numbers from 0" +
                                  (uuids ? ", or UUIDs (GPU-..., MIG-...)" : ""));
    } else if (seen.insert(name).second) {
      add(*number, uuid ? name : "");
    } else {
      in.reader.Report(entry, "in " + Quoted(in.name) + ": device " + name +
                                  " is listed twice; each device runs one rank");
    }
  });
}

void ReadGpus(const KeyedValue& in, NodeEntry& entry) {
  Node& node = entry.node;
  bool any_uuid = false;
  ForEachDevice(in, true, [&](uint32_t number, const std::string& uuid) {
    any_uuid |= !uuid.empty();
    node.gpus.push_back(uuid.empty() ? number : static_cast<uint32_t>(node.gpus.size()));
    node.gpu_uuids.push_back(uuid);
  });
  if (!any_uuid) node.gpu_uuids.clear();
}

void ReadChief(const KeyedValue& in, NodeEntry& entry) {
  const auto chief = ReadBool(in.value.text);
  if (!chief) in.Report("'chief' is " + Shown(in.value) + "; it should be true or false");
  entry.node.chief = chief.value_or(false);
}

void ReadBandwidth(const KeyedValue& in, NodeEntry& entry) {
  const auto bandwidth = ReadPositiveNumber(in.value.text);
  if (!bandwidth) in.Report("'network_bandwidth' should be a positive number of Gbit/s");
  entry.node.network_bandwidth = bandwidth.value_or(entry.node.network_bandwidth);
}

std::string DeviceSchema() {
  return R"("type": "integer", "minimum": 0, "maximum": )" + std::to_string(kMaxDevice);
}

std::string GpuSchema() {
  return R"("oneOf": [{)" + DeviceSchema() + "}, {" +
         PatternSchema(
             "GPU-[0-9A-Fa-f-]{1,36}|MIG-[0-9A-Fa-f-]{1,36}|"
             "MIG-GPU-[0-9A-Fa-f-]{1,36}/[0-9]+/[0-9]+") +
         "}]";
}

// The keys that most specs have.
std::vector<Key<NodeEntry>> UsualNodeKeys() {
  return {
      {{"address", "required",
        "The address by which the chief and the other nodes reach it, and its name in all output. "
        "A host name is resolved once, on the chief's machine. Two nodes cannot have the same "
        "address; with several nodes a loopback address is an error. `'[address]:2222'`, in "
        "quotes, sets the port of the SSH server; two SSH servers at one IP address need two host "
        "names. A [range](#a-node) stands for many nodes.",
        PatternSchema(AddressPattern()),
        R"("10.0.0.2", "fd00::2", "node2", "gpu[01-16,20]", "[node2]:2222")",
        "host hostname ip name node addr"},
       ReadAddress},
      {{"gpus",
        "list of CUDA device numbers, or of UUIDs (`GPU-…`, `MIG-…`) as `nvidia-smi -L` shows "
        "them",
        "One rank per GPU. Every rank of the node sees the whole list in `CUDA_VISIBLE_DEVICES`, "
        "such as `2,3`, and picks by its local rank. See [devices](#devices).",
        ListSchema(GpuSchema()) + R"(, "uniqueItems": true)",
        R"([0, 1, 2, 3], ["MIG-a2b3c4d5-0000-5555-8888-0123456789ab"])", "devices num_gpus slots"},
       ReadGpus},
      {{"cpus", "list of numbers, default `[0]`",
        "Used without `gpus`: one rank per entry. The entries only count ranks; no rank is bound "
        "to a CPU. With `cpus: []` and `gpus: []` the node has no ranks.",
        ListSchema(DeviceSchema()) + R"(, "uniqueItems": true)", "[0, 1]", "num_cpus"},
       [](const KeyedValue& in, NodeEntry& entry) {
         ForEachDevice(in, false, [&](uint32_t number, const std::string&) {
           entry.node.cpus.push_back(number);
         });
       }},
      {{"chief", "`true` or `false`",
        "Marks the chief node, the machine on which you run `autodist run`; one at most. Its ranks "
        "start without SSH. Without such a node, autodist runs [outside the nodes]"
        "(../how-to/laptop.md), on a machine without ranks. If the spec has only one node, "
        "and this node has no `ssh_config`, it is the chief node.",
        R"("type": "boolean", "default": false)", ""},
       ReadChief},
      {{"ssh_config", "name of an ssh group",
        "The login of this node. Required, except on the chief node, and except if `ssh` has the "
        "[settings of one group directly](#an-ssh-group). On the chief node, only `python_venv` "
        "and `shared_envs` of a group without `via` apply.",
        R"("type": ["string", "integer"], "minLength": 1)", R"("lab")", "ssh group"},
       [](const KeyedValue& in, NodeEntry& entry) { in.Text(entry.node.ssh_config); }}};
}

std::vector<Key<NodeEntry>> FurtherNodeKeys() {
  return {
      {{"device_ips", "list of IPv4 addresses, one for each of `gpus`",
        "The addresses of NPUs on the NPUs' network, for "
        "[rank tables](../how-to/frameworks.md#mindspore). Default: read from `hccn_tool` or "
        "`/etc/hccn.conf` on the node.",
        ListSchema(PatternSchema(R"((\d{1,3}\.){3}\d{1,3})")),
        R"(["192.168.100.101", "192.168.101.101"])"},
       [](const KeyedValue& in, NodeEntry& entry) {
         entry.node.device_ips =
             in.List("a list of IPv4 addresses, one for each of 'gpus'", ReadIpv4);
       }},
      {{"data_address",
        "IP address or host name; default: `address`. In a run [from outside the nodes]"
        "(../how-to/laptop.md), the default is the address that the node reports",
        "The address by which the ranks of other nodes reach it, if it differs from SSH's. Two "
        "nodes cannot have the same one. Required if `address` is a link-local address such as "
        "`fe80::2%eth0`, which is only valid on the chief's machine.",
        PatternSchema(HostsPattern()), R"("10.1.0.2", "node2-ib")"},
       [](const KeyedValue& in, NodeEntry& entry) {
         if (auto hosts = in.As(ReadHosts)) entry.data_addresses = *std::move(hosts);
       }},
      {{"ssh_address",
        "IP address or host name; default: `address`, or `HostName` of `~/.ssh/config`",
        "The address that SSH connects to, if `address` is only a name for the node.",
        PatternSchema(HostsPattern()), R"("10.1.0.2")"},
       [](const KeyedValue& in, NodeEntry& entry) {
         if (auto hosts = in.As(ReadHosts)) entry.ssh_addresses = *std::move(hosts);
       }},
      {{"host_keys", "list of public keys, `['ssh-ed25519 AAAA…']`",
        "The public keys of the node's SSH server, as in `/etc/ssh/ssh_host_*_key.pub` there. "
        "Other keys are rejected, whatever known_hosts and `host_key_check` say.",
        ListSchema(PatternSchema(R"(\S+ [A-Za-z0-9+/=]+( .*)?)")),
        R"(["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8ZQmX5tGV0Ef9tWQkzB0Qm4bTz3y1o5w5mYwS0p9qk"])"},
       [](const KeyedValue& in, NodeEntry& entry) {
         entry.node.host_keys =
             in.List("a list of public keys, such as ['ssh-ed25519 AAAA...']", ReadHostKey);
       }},
      {{"interface", "name such as `eth0`; default: the interface that has the data address",
        "The interface for traffic between ranks.", PatternSchema(R"((?!\.{1,2}$)[^\s/:%]{1,15})"),
        R"("eth0", "ib0")"},
       [](const KeyedValue& in, NodeEntry& entry) {
         in.Text(entry.node.interface, CheckInterface);
       }},
      {{"python_venv", "as in an [ssh group](#an-ssh-group)",
        "Statements for this node, which run instead of the group's.", TextSchema(),
        R"("source ~/venv/bin/activate")", "venv"},
       [](const KeyedValue& in, NodeEntry& entry) {
         entry.node.python_venv = in.reader.ReadString(in.value, in.name);
       }},
      {{"shared_envs", "as in an [ssh group](#an-ssh-group)",
        "Variables for this node, in addition to the group's. If both set a variable, the node's "
        "value wins.",
        SharedEnvsSchema(), R"({"LD_LIBRARY_PATH": "$LD_LIBRARY_PATH:/usr/local/cuda/lib64"})",
        "env envs environment"},
       [](const KeyedValue& in, NodeEntry& entry) { ReadSharedEnvs(in, entry.node.shared_envs); }},
      {{"network_bandwidth", "Gbit/s", "Accepted; not used yet.",
        R"("type": "number", "exclusiveMinimum": 0)", "25"},
       ReadBandwidth}};
}

const std::vector<Key<NodeEntry>>& NodeKeys() {
  static const auto keys = Joined<NodeEntry>({UsualNodeKeys(), FurtherNodeKeys()});
  return keys;
}

}  // namespace

std::vector<KeyText> NodeKeyTexts() { return TextsOf(NodeKeys()); }

std::optional<NodeEntry> ReadNodeEntry(ValueReader& reader, const YamlValue& yaml) {
  NodeEntry entry;
  const auto given = ReadKeys(reader, yaml, "a node", NodeKeys(), entry);
  if (!given) return std::nullopt;
  const auto at = [&](const char* key) {
    const auto found = given->find(key);
    return found == given->end() ? yaml.position : found->second;
  };
  entry.at = {at("address"), at("ssh_config"),  at("data_address"), at("device_ips"),
              at("chief"),   at("ssh_address"), at("host_keys")};
  if (!given->contains("address")) {
    reader.Report(yaml, "a node without 'address': its IP address or host name");
  }
  const bool no_ranks = given->contains("cpus") && given->contains("gpus");
  if (entry.node.cpus.empty() && !no_ranks) entry.node.cpus = {0};
  return entry;
}

std::vector<Node> NodesOf(const NodeEntry& entry, const ReportIssue& report) {
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
