// Drafts a resource spec for `autodist init` from a list of hosts and facts about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/host_list.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// Facts about one host.
struct HostFacts {
  bool here = false;  // whether it is this machine
  // Empty: as the host was given.
  std::string address;
  std::string address_note;
  // The host's answers; nullopt: no answer, or not asked.
  std::optional<uint32_t> gpus;
  uint32_t cpus = 0;
  // An identity that is the same for all names of a machine, beginning with the host name; empty:
  // unknown.
  std::string machine;
  std::string not_reached;  // why it did not answer; empty: it was not asked
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

// `facts` has one element for each host; there is at least one. The chief is the host that is this
// machine, or else the first. `login` has the login settings; hosts with another user get a
// separate group. Its environment also applies to the chief.
SpecDraft DraftSpec(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                    const SshGroup& login);

}  // namespace autodist::spec
