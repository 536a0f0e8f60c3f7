#include "spec/spec_text.h"

#include <strings.h>

#include <algorithm>
#include <cctype>

namespace autodist::spec {
namespace {

constexpr char kHeader[] =
    "# Which machines take part in a job, with which devices, and how to log in to them.\n"
    "# After a change:            autodist validate FILE\n"
    "# What would be started:     autodist run --spec FILE --dry-run -- ./train\n";

// A YAML scalar that is this text. Single quotes do where plain is not plainly right.
std::string Scalar(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == '/';
  };
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain) &&
                     text[0] != '-' && strcasecmp(text.c_str(), "null") != 0;
  const bool home = text.starts_with("~/") && std::all_of(text.begin() + 1, text.end(), is_plain);
  if (plain || home) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

// Behind a line; what a host said may hold anything.
std::string Comment(const std::string& note) {
  if (note.empty()) return "";
  std::string text = "  # ";
  for (const char c : note) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return text;
}

std::string DeviceList(const std::vector<uint32_t>& devices) {
  std::string text;
  for (const uint32_t device : devices) {
    text += (text.empty() ? "" : ", ") + std::to_string(device);
  }
  return "[" + text + "]";
}

// Of a node, and of an ssh group; both are indented alike.
std::string EnvironmentText(const std::string& python_venv, const SharedEnvs& shared_envs) {
  std::string text;
  if (!python_venv.empty()) text += "    python_venv: " + Scalar(python_venv) + "\n";
  if (!shared_envs.empty()) text += "    shared_envs:\n";
  for (const auto& [name, value] : shared_envs) {
    text += "      " + name + ": " + (value.empty() ? "''" : Scalar(value)) + "\n";
  }
  return text;
}

std::string NodeText(const Node& node, const SpecDraft::Note& note) {
  std::string text = "  - address: " + Scalar(node.address) + Comment(note.address) + "\n";
  text += node.gpus.empty() ? "    cpus: " + DeviceList(node.cpus)
                            : "    gpus: " + DeviceList(node.gpus);
  text += Comment(note.devices) + "\n";
  if (node.chief) text += "    chief: true  # the machine on which autodist run is typed\n";
  if (!node.ssh_config.empty()) text += "    ssh_config: " + Scalar(node.ssh_config) + "\n";
  return text + EnvironmentText(node.python_venv, node.shared_envs);
}

std::string GroupText(const std::string& name, const SshGroup& group) {
  std::string text;
  if (!group.key_file.empty()) text += "    key_file: " + Scalar(group.key_file) + "\n";
  if (!group.username.empty()) text += "    username: " + Scalar(group.username) + "\n";
  if (group.port) text += "    port: " + std::to_string(*group.port) + "\n";
  text += EnvironmentText(group.python_venv, group.shared_envs);
  if (!text.empty()) return "  " + Scalar(name) + ":\n" + text;
  return "  " + Scalar(name) + ": {}  # as 'ssh HOST' logs in; key_file, username, port if not\n";
}

}  // namespace

std::string SpecText(const SpecDraft& draft) {
  std::string text = std::string(kHeader) + "nodes:\n";
  for (size_t i = 0; i < draft.spec.nodes.size(); ++i) {
    text += NodeText(draft.spec.nodes[i], draft.notes[i]);
  }
  if (!draft.spec.ssh.empty()) text += "ssh:\n";
  for (const auto& [name, group] : draft.spec.ssh) text += GroupText(name, group);
  return text;
}

}  // namespace autodist::spec
