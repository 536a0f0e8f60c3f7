// Makes machines of the names in OpenSSH's configuration, for `autodist init --ssh-config`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "spec/host_list.h"
#include "spec/spec_draft.h"

namespace autodist::reach {

// What is known of one name.
struct ConfiguredHost {
  std::string address;  // of HostName: IP address, or as it is where that is not known here
  std::multimap<std::string, std::string> openssh;  // what `ssh -G` prints of it
};

// Why the name is one of a code host, which runs nobody's ranks: "it has User git"; empty: it is
// none.
std::string WhyCodeHost(const std::string& name, const ConfiguredHost& host);

// What is the same for all names of one machine: where ssh connects to, and by which way.
std::string MachineOf(const std::string& name, const ConfiguredHost& host);

// Leaves code hosts out, with a warning, and makes one host of all names of a machine; the first
// keeps its name and knows the others. Blocks on `ssh -G` and the name service, for half a minute
// at most.
void SettleConfigHosts(spec::HostList& list);

// The same once the hosts have been asked: those that say that they are the same machine. `hosts`
// and `facts` have one entry for each host, also afterwards.
void MergeSameMachines(std::vector<spec::HostEntry>& hosts, std::vector<spec::HostFacts>& facts);

}  // namespace autodist::reach
