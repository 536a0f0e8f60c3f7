// Recognizes files of other programs in place of a resource spec or a list of hosts.
//
// Pure functions; the text may be anything.
#pragma once

#include <optional>
#include <string>

#include "spec/host_list.h"

namespace autodist::spec {

struct ForeignFile {
  std::string kind;               // "a Ray cluster configuration"
  std::optional<HostList> hosts;  // if it names the machines
  std::string advice = {};        // otherwise, what to do instead
};

// Returns nullopt for an unknown file. `file` is only for messages.
std::optional<ForeignFile> RecogniseFile(const std::string& text, const std::string& file);

// Returns the error for such a file in place of a resource spec, with the command that converts it.
std::string NoSpec(const ForeignFile& found, const std::string& file);

// Reads the machines of a list of hosts in any form, or of another program's file, for `autodist
// init`.
HostList HostsIn(const std::string& text, const std::string& file);

}  // namespace autodist::spec
