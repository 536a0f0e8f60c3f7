// Recognises files that belong to other programs where a resource spec, or a list of hosts, is
// expected.
//
// Pure functions, whatever the text is.
#pragma once

#include <optional>
#include <string>

#include "spec/host_list.h"

namespace autodist::spec {

struct ForeignFile {
  std::string kind;               // "a Ray cluster configuration"
  std::optional<HostList> hosts;  // where it names its machines
  std::string advice = {};        // what to do where it does not
};

// nullopt: it is nothing that is known. `file` only names it.
std::optional<ForeignFile> RecogniseFile(const std::string& text, const std::string& file);

// What is wrong with such a file as a resource spec, and the command that makes one of it.
std::string NoSpec(const ForeignFile& found, const std::string& file);

// The machines of a list of hosts in whatever form, or of another program's file: for `autodist
// init`.
HostList HostsIn(const std::string& text, const std::string& file);

}  // namespace autodist::spec
