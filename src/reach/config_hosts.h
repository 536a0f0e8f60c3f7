// Converts names in OpenSSH's configuration to machines, for `autodist init --ssh-config`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

// The configuration of one name.
struct ConfiguredHost {
  std::string address;  // of HostName: the IP address, or the text if it cannot be resolved here
  std::multimap<std::string, std::string> openssh;  // the output of `ssh -G`
};

// Returns the reason if the name is that of a code host, which cannot run ranks: "it has User git";
// otherwise "".
std::string WhyCodeHost(const std::string& name, const ConfiguredHost& host);

// Returns a text that is equal for all names of a machine: the destination and the route of ssh.
std::string MachineOf(const std::string& name, const ConfiguredHost& host);

// Removes code hosts, with a warning, and merges all names of a machine into one host; the first
// keeps its name and lists the others. Blocks on `ssh -G` and the name service, for half a minute
// at most.
void SettleConfigHosts(spec::HostList& list);

// The same with the hosts' answers: merges hosts that report the same machine. `hosts` and `facts`
// have one entry for each host, before and after.
void MergeSameMachines(std::vector<spec::HostEntry>& hosts, std::vector<spec::HostFacts>& facts);

}  // namespace autodist::reach
