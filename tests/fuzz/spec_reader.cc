// libFuzzer: reading any text as a resource spec gives a consistent spec, or issues with positions
// within the text; reading it as a list of hosts gives valid hosts, or issues.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "base/utf8.h"
#include "spec/address.h"
#include "spec/foreign_file.h"
#include "spec/host_list.h"
#include "spec/spec_text.h"
#include "spec/ssh_section.h"
#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void CheckIssue(const Issue& issue, int lines) {
  Check(issue.line >= 0 && issue.line <= lines, "an issue on a line that there is not");
  Check(!issue.what.empty() && base::IsUtf8(issue.what), "an issue without a text");
  // Only the reader's own message may have several lines.
  for (const char c : issue.what) {
    Check((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) || c == '\n', "a control character");
  }
}

void CheckHosts(const HostList& list, int lines) {
  Check(!list.hosts.empty() || !list.issues.empty(), "neither hosts nor issues");
  for (const Issue& issue : list.issues) CheckIssue(issue, lines);
  if (!list.issues.empty()) return;
  for (const HostEntry& host : list.hosts) {
    Check(CheckHost(host.host).ok(), "a bad host");
    Check(host.user.empty() || CheckUser(host.user).ok(), "a bad user");
    Check(host.proxy_jump.empty() || CheckProxyJump(host.proxy_jump).ok(), "a bad jump of a host");
    Check(host.key_file.find('\0') == std::string::npos, "a zero byte in the path of a key");
    Check(!host.port || *host.port > 0, "port 0 of a host");
    Check(!host.slots || (*host.slots > 0 && *host.slots <= kMaxSlots), "a bad number of devices");
  }
}

void CheckGroup(const SshGroup& group) {
  Check(!group.port || *group.port > 0, "port 0 of a group");
  Check(group.key_file.find('\0') == std::string::npos, "a zero byte in a path");
  Check(group.proxy_jump.empty() || CheckProxyJump(group.proxy_jump).ok(), "a bad jump");
  Check(!group.proxy_jump.starts_with('-'), "a jump that is an option");
  Check(group.container.empty() || CheckContainer(group.container).ok(), "a bad container");
  Check(group.image.empty() || CheckImage(group.image).ok(), "a bad image");
  Check((group.container.empty() && group.image.empty()) || !group.via.empty(),
        "a container without a runtime");
}

void CheckSpec(const ResourceSpec& spec) {
  const auto chiefs = std::count_if(spec.nodes.begin(), spec.nodes.end(),
                                    [](const Node& node) { return node.chief; });
  Check(chiefs <= 1, "several chiefs");
  Check(std::any_of(spec.nodes.begin(), spec.nodes.end(),
                    [](const Node& node) { return !node.devices().empty(); }),
        "no rank");
  std::set<std::string> addresses;
  std::set<std::string> data_addresses;
  for (const Node& node : spec.nodes) {
    const bool asked = chiefs == 0 && node.data_address.empty();
    const std::string& data = node.data_address.empty() ? node.address : node.data_address;
    Check(CheckHost(node.address).ok() && CheckHost(data).ok(), "a bad address");
    Check(addresses.insert(Identity(node.address)).second, "an address twice");
    Check(asked || data_addresses.insert(Identity(data)).second, "a data address twice");
    Check(node.network_bandwidth > 0, "a node without network");
    Check(!node.port || *node.port > 0, "port 0");
    Check(node.interface.size() <= 15, "a long interface name");
    Check(node.chief || spec.ssh.contains(node.ssh_config), "a node without an ssh group");
  }
  for (const auto& [name, group] : spec.ssh) CheckGroup(group);
  const std::set<std::string> paths(spec.shared_paths.begin(), spec.shared_paths.end());
  Check(paths.size() == spec.shared_paths.size(), "a shared path twice");
  for (const std::string& path : paths) Check(path.starts_with('/'), "a relative shared path");
}

// Ranges can expand a short text into a long one.
constexpr size_t kLongest = 1 << 19;

void CheckText(const ResourceSpec& spec) {
  const std::string text = SpecText(spec);
  if (text.size() > kLongest) return;
  const ReadOutcome again = ReadSpec(text, "f");
  if (!again.spec) std::fprintf(stderr, "%s\n%s", again.issues[0].ToString().c_str(), text.c_str());
  Check(again.spec.has_value(), "a spec that cannot be written");
  Check(SpecText(*again.spec) == text, "a spec that is another when written");
}

}  // namespace
}  // namespace autodist::spec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist::spec;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ReadOutcome outcome = ReadSpec(text, "f");
  Check(outcome.spec.has_value() == outcome.issues.empty(), "neither spec nor issues, or both");
  // A file ends on the line after its last line feed; YAML counts carriage returns as well.
  const auto lines =
      1 + std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; });
  for (const Issue& issue : outcome.issues) {
    CheckIssue(issue, static_cast<int>(lines));
    Check(issue.line == 0 || issue.column >= 1, "an issue without a column");
  }
  CheckHosts(HostsIn(text, "f"), static_cast<int>(lines));
  if (outcome.spec) CheckSpec(*outcome.spec);
  if (outcome.spec) CheckText(*outcome.spec);
  return 0;
}
