// Reads the section 'ssh' of a spec, and those keys that a node shares with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/issue.h"
#include "spec/key.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

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
