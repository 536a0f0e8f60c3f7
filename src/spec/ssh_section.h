// Reads the section 'ssh' of a spec, and those keys that a node shares with it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/issue.h"
#include "spec/resource_spec.h"
#include "spec/value_reader.h"

namespace autodist::spec {

// The key `via`: how programs run on a node if not by SSH alone, but in a container by `podman
// exec`, `docker exec` or `kubectl exec`, or by another program that executes its last arguments.

// Reads `via: podman`, `docker`, `kubectl`, `srun` or an argv, and reports issues.
std::vector<std::string> ReadVia(const KeyedValue& in);

// Reads a list of arguments.
std::vector<std::string> ReadWords(const KeyedValue& in);

// Checks `text` as the name of a container or of an image; the error says what is valid.
Status CheckContainer(const std::string& text);
Status CheckImage(const std::string& text);

// Reports all issues in the combination of a group's keys.
void CheckVia(const SshGroup& group, const std::function<void(const std::string& what)>& report);

// A key_file of the spec, with its position.
struct KeyFile {
  std::string path;
  Position where;
};

struct SshSection {
  std::map<std::string, SshGroup> groups;
  // The settings of a section without groups, as in the first specs of AutoDist, for all nodes that
  // name no group.
  std::optional<SshGroup> login = {};
  std::vector<KeyFile> key_files = {};  // in file order
  Position where = {};
  bool unread = false;  // invalid, which has been reported
};

SshSection ReadSsh(ValueReader& reader, const YamlValue& ssh);

// Reads names and values of variables.
void ReadSharedEnvs(const KeyedValue& in, SharedEnvs& envs);
std::string SharedEnvsSchema();

std::vector<KeyText> GroupKeyTexts();

}  // namespace autodist::spec
