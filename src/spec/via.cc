#include "spec/via.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "spec/quoted.h"

namespace autodist::spec {
namespace {

constexpr char kWantedVia[] =
    "podman, docker, apptainer, kubectl, srun, or the words of a command that runs what follows "
    "them, such as "
    "[my-exec, '{node}', --]";
constexpr const char* kPrograms[] = {"podman", "docker", "apptainer", "kubectl", "srun"};

// Whether a login shell leaves the argument unchanged.
bool IsPlain(const std::string& word) {
  return std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_@%+=:,./-{}").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool Mentions(const std::vector<std::string>& words, const char* what) {
  return std::ranges::any_of(
      words, [&](const std::string& word) { return word.find(what) != std::string::npos; });
}

}  // namespace

std::vector<std::string> ReadVia(const KeyedValue& in) {
  if (in.value.kind == YamlValue::Kind::kText) {
    const std::string word = in.reader.ReadString(in.value, in.name);
    if (word.empty()) return {};
    if (std::ranges::count(kPrograms, word) > 0) return {word};
    in.Report("'via' is " + Shown(in.value) + "; it should be " + kWantedVia);
    return {};
  }
  if (!in.IsList(kWantedVia)) return {};
  std::vector<std::string> words = ReadWords(in);
  if (words.size() < 2) in.Report(std::string("'via' should be ") + kWantedVia);
  return words;
}

std::vector<std::string> ReadWords(const KeyedValue& in) {
  std::vector<std::string> words;
  if (!in.IsList("a list of words")) return words;
  in.reader.ForEach(in.value, [&](const YamlValue& word) {
    words.push_back(in.reader.ReadString(word, in.name));
  });
  return words;
}

Status CheckContainer(const std::string& text) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '-';
  };
  if (std::isalnum(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, fits)) {
    return OkStatus();
  }
  return Error(StatusCode::kInvalidArgument,
               Quoted(text) +
                   " is not the name of a container: letters, digits, '_', '.' and '-', "
                   "the first a letter or digit");
}

Status CheckImage(const std::string& text) {
  if (IsPlain(text) && text[0] != '-') return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               Quoted(text) + " is not the name of an image, such as docker.io/library/debian:12");
}

void CheckVia(const SshGroup& group, const std::function<void(const std::string& what)>& report) {
  const bool listed = group.via.size() > 1;
  if (group.via.empty()) {
    if (!group.container.empty()) report("'container' needs 'via: podman' or 'via: docker'");
    if (!group.image.empty()) report("'image' needs 'via: podman', docker or apptainer");
  }
  if (group.image.empty() && !group.run_options.empty()) report("'run_options' needs an 'image'");
  if (group.via.empty()) return;
  if (!group.image.empty() &&
      (!group.container.empty() || listed || group.via[0] == "kubectl" || group.BySlurm())) {
    report(
        "'image' is for a container that podman or docker makes: 'via: podman' or 'via: docker', "
        "and no 'container'");
    return;
  }
  if (group.PerRank()) {
    if (group.image.empty()) report("'via: apptainer' needs an 'image', a file or folder");
    if (!group.container.empty()) report("'container' cannot be used with 'via: apptainer'");
    return;
  }
  if (group.BySlurm() && !group.container.empty()) {
    report("'container' cannot be used with 'via: srun'");
  }
  if (group.InContainerBehindLogin()) {
    if (listed && !Mentions(group.via, "{container}")) {
      report("'via' does not say where {container} goes");
    }
    if (!std::ranges::all_of(group.via, IsPlain) ||
        !std::ranges::all_of(group.run_options, IsPlain)) {
      report(
          "the words of 'via' and 'run_options' pass a login shell; they may have letters, digits "
          "and _@%+=:,./-");
    }
    return;
  }
  if (listed && !Mentions(group.via, "{node}")) report("'via' does not say where {node} goes");
  const std::pair<const char*, bool> of_ssh[] = {
      {"key_file", !group.key_file.empty()},
      {"username", !group.username.empty()},
      {"port", group.port.has_value()},
      {"proxy_jump", !group.proxy_jump.empty()},
      {"host_key_check", group.host_key_check.has_value()}};
  for (const auto& [key, given] : of_ssh) {
    if (!given) continue;
    report(Quoted(key) +
           " means nothing where there is no SSH login; for a container on a node that "
           "SSH reaches, give its name as 'container'");
  }
}

}  // namespace autodist::spec
