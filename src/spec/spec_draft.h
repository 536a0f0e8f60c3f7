// Drafts a resource spec for `autodist init` from a list of hosts and facts about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "spec/host_list.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Facts about one host.
struct HostFacts {
  bool here = false;  // whether it is this machine
  // Empty: as the host was given.
  std::string address;
  std::string address_note;
  // The host's answers; nullopt: unknown, or not asked.
  std::optional<uint32_t> gpus;
  std::string nvidia_smi;  // what it says besides the list of GPUs
  uint32_t cpus = 0;
  // An identity that is the same for all names of a machine, beginning with the host name; empty:
  // unknown.
  std::string machine;
  Status unknown;         // why gpus is unknown; OK: it is known, or was not asked for
  bool reported = false;  // whether the reason is reported elsewhere
};

// A spec with notes for the user.
struct SpecDraft {
  struct Note {
    std::string address;  // one line each; empty: no note
    std::string devices;
  };
  ResourceSpec spec;
  std::vector<Note> notes;            // one for each node
  std::vector<std::string> warnings;  // about what is probably not intended
};

// Returns `login` with the settings of the host's entry.
SshGroup GroupOf(const HostEntry& host, SshGroup login);

// `facts` has one element for each host; there is at least one. The chief is the host that is this
// machine, or else the first. `login` has the login settings; hosts with another user get a
// separate group. Its environment also applies to the chief. A host whose devices are neither known
// nor given has a node with `counted` set to the reason.
SpecDraft DraftSpec(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                    const SshGroup& login);

}  // namespace autodist::spec
