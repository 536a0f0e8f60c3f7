// Texts, hints above all, that depend on where a job's nodes come from: only a user with a spec can
// change its keys, and only `init` has the options of init. A text has sections for some sources:
//   correct the port: [spec|`port` in the spec, or ][init|--port, or ]Port in ~/.ssh/config
// A section begins with '[', the names of sources, with commas, and '|'; it ends with the ']' that
// matches. Other brackets are text. Values of users are filled in after rendering.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// Where the nodes come from. The names in sections: spec, hosts, init, allocation, here.
enum class NodeSource {
  kSpec,        // a file
  kHosts,       // --hosts, or a list of another program
  kInit,        // hosts for which `init` writes a spec
  kAllocation,  // of Slurm or Kubernetes
  kHere,        // this machine alone
};

// Returns the text with its sections for this source. Pure.
std::string ForUserOf(NodeSource source, std::string_view text);

// The source of this process, which is set as soon as it is known, like a locale; kSpec before.
// Thread-safe.
void SetNodeSource(NodeSource source);
NodeSource CurrentNodeSource();
std::string ForUser(std::string_view text);

}  // namespace autodist::base
