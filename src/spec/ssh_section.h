// Reads the section 'ssh' of a spec, and what a node has of the same form.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "spec/issue.h"
#include "spec/key.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// A key_file as the spec has it, and where.
struct KeyFile {
  std::string path;
  Position where;
};

struct SshSection {
  std::map<std::string, SshGroup> groups;
  // Of a section without groups, as the first specs of AutoDist have it: of all nodes that name no
  // group.
  std::optional<SshGroup> login = {};
  std::vector<KeyFile> key_files = {};  // in file order
  Position where = {};
  bool unread = false;  // it was not understood, which has been reported
};

SshSection ReadSsh(ValueReader& reader, const YamlValue& ssh);

// Names of variables, and their values.
void ReadSharedEnvs(const KeyedValue& in, SharedEnvs& envs);
std::string SharedEnvsSchema();

std::vector<KeyText> GroupKeyTexts();

}  // namespace autodist::spec
