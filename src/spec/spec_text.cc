#include "spec/spec_text.h"

#include <absl/strings/str_join.h>
#include <strings.h>

#include <algorithm>
#include <cctype>

#include "base/json_quote.h"
#include "base/shell_quote.h"
#include "base/utf8.h"

namespace autodist::spec {
namespace {

std::string Header(const std::string& file) {
  const std::string named = file.empty() ? "FILE" : base::ShellQuote(base::Printable(file));
  return "# Which machines take part in a job, with which devices, and how to log in to them.\n"
         "# After a change:            autodist validate " +
         named +
         "\n"
         "# What would be started:     autodist run --spec " +
         named + " --dry-run -- ./train\n";
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Formats the text as a YAML scalar. Uses single quotes where plain style is ambiguous; they cannot
// contain a line feed.
std::string Scalar(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '/';
  };
  if (std::ranges::any_of(text, IsControl)) return base::JsonQuoted(text);
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain) &&
                     text[0] != '-' && strcasecmp(text.c_str(), "null") != 0;
  const bool home = text.starts_with("~/") && std::all_of(text.begin() + 1, text.end(), is_plain);
  if (plain || home) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// Formats a comment behind a line; the text of a host may contain anything.
std::string Comment(const std::string& note) {
  if (note.empty()) return "";
  std::string text = "  # ";
  for (const char c : note) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return text;
}

std::string ListOf(const std::vector<std::string>& texts) {
  const auto add = [](std::string* list, const std::string& text) { *list += Scalar(text); };
  return "[" + absl::StrJoin(texts, ", ", add) + "]";
}

// Formats the devices; by UUID if they are named by UUID.
std::string DeviceList(const Node& node) {
  std::vector<std::string> devices;
  for (const uint32_t device : node.devices()) devices.push_back(std::to_string(device));
  for (size_t i = 0; i < node.gpu_uuids.size(); ++i) {
    if (!node.gpu_uuids[i].empty()) devices[i] = node.gpu_uuids[i];
  }
  return ListOf(devices);
}

// Formats a line of a node or of an ssh group, which have the same indentation; "" without a value.
std::string Line(const char* key, const std::string& value) {
  return value.empty() ? "" : std::string("    ") + key + ": " + Scalar(value) + "\n";
}

std::string Line(const char* key, const std::vector<std::string>& values) {
  return values.empty() ? "" : std::string("    ") + key + ": " + ListOf(values) + "\n";
}

// Returns the name that ReadHostKeyCheck parses.
std::string NameOf(v1::HostKeyCheck check) {
  if (check == v1::HOST_KEY_CHECK_OFF) return "off";
  return check == v1::HOST_KEY_CHECK_ACCEPT_NEW ? "accept-new" : "strict";
}

std::string AddressText(const Node& node) {
  return node.port ? "[" + node.address + "]:" + std::to_string(*node.port) : node.address;
}

// Formats the environment of a node or of an ssh group.
std::string EnvironmentText(const std::string& python_venv, const SharedEnvs& shared_envs) {
  std::string text = Line("python_venv", python_venv);
  if (!shared_envs.empty()) text += "    shared_envs:\n";
  for (const auto& [name, value] : shared_envs) {
    text += "      " + Scalar(name) + ": " + (value.empty() ? "''" : Scalar(value)) + "\n";
  }
  return text;
}

std::string NodeText(const Node& node, const SpecDraft::Note& note) {
  std::string text = "  - address: " + Scalar(AddressText(node)) + Comment(note.address) + "\n";
  const bool none = node.devices().empty();
  text += !node.counted.ok()  ? "    gpus: unknown"
          : none              ? "    cpus: []\n    gpus: []"
          : node.gpus.empty() ? "    cpus: " + DeviceList(node)
                              : "    gpus: " + DeviceList(node);
  text += Comment(note.devices) + "\n";
  if (node.chief) text += "    chief: true  # the machine on which autodist run is typed\n";
  text += Line("ssh_config", node.ssh_config) + Line("ssh_address", node.ssh_address) +
          Line("host_keys", node.host_keys) + Line("data_address", node.data_address) +
          Line("interface", node.interface) + Line("device_ips", node.device_ips);
  if (node.network_bandwidth != Node().network_bandwidth) {
    text += Line("network_bandwidth", std::to_string(node.network_bandwidth));
  }
  return text + EnvironmentText(node.python_venv, node.shared_envs);
}

std::string GroupText(const std::string& name, const SshGroup& group) {
  std::string text = Line("key_file", group.key_file) + Line("username", group.username);
  if (group.port) text += "    port: " + std::to_string(*group.port) + "\n";
  text += Line("proxy_jump", group.proxy_jump);
  if (group.host_key_check) text += Line("host_key_check", NameOf(*group.host_key_check));
  text += group.via.size() == 1 ? Line("via", group.via[0]) : Line("via", group.via);
  text += Line("container", group.container) + Line("image", group.image) +
          Line("run_options", group.run_options);
  text += EnvironmentText(group.python_venv, group.shared_envs);
  if (!text.empty()) return "  " + Scalar(name) + ":\n" + text;
  return "  " + Scalar(name) +
         ": {}  # empty: log in as 'ssh HOST' does; or set key_file, username, port\n";
}

}  // namespace

std::string SpecText(const SpecDraft& draft, const std::string& file) {
  std::string text = Header(file) + "nodes:\n";
  for (size_t i = 0; i < draft.spec.nodes.size(); ++i) {
    text += NodeText(draft.spec.nodes[i], draft.notes[i]);
  }
  if (!draft.spec.ssh.empty()) text += "ssh:\n";
  for (const auto& [name, group] : draft.spec.ssh) text += GroupText(name, group);
  if (!draft.spec.shared_paths.empty()) {
    text += "shared_paths: " + ListOf(draft.spec.shared_paths) + "\n";
  }
  return text;
}

std::string SpecText(const ResourceSpec& spec) {
  return SpecText(SpecDraft{spec, std::vector<SpecDraft::Note>(spec.nodes.size()), {}});
}

}  // namespace autodist::spec
