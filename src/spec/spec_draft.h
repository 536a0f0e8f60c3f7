// Drafts a resource spec, for `autodist init`, from a list of hosts and what was found out about
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/host_list.h"
#include "spec/resource_spec.h"

namespace autodist::spec {

// What was found out about one host.
struct HostFacts {
  bool here = false;  // it is this machine
  // Empty: the host as it was given.
  std::string address;
  std::string address_note;
  // What it answered; nullopt: it did not, or was not asked.
  std::optional<uint32_t> gpus;
  uint32_t cpus = 0;
  // What the machine says of itself, its host name first, the same under all its names; empty: not
  // known.
  std::string machine;
  std::string not_reached;  // why it did not answer; empty: it was not asked
};

// A spec with what a user should know of its parts.
struct SpecDraft {
  struct Note {
    std::string address;  // one line each; empty: nothing to say
    std::string devices;
  };
  ResourceSpec spec;
  std::vector<Note> notes;            // one for each node
  std::vector<std::string> warnings;  // what is probably not as it was meant
};

// `facts` has one for each host, of which there is at least one. The chief is the host that is this
// machine, or else the first. `login` is how to log in, to hosts with a user of their own as that;
// its environment is the chief's, too.
SpecDraft DraftSpec(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                    const SshGroup& login);

}  // namespace autodist::spec
