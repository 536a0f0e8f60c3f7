// Which of several hosts is this machine, and under which address others reach it.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::reach {

struct Location {
  bool here = false;           // one of its addresses is this machine's, or its name is
  bool only_loopback = false;  // no other node reaches this machine under the host as given
};

// One location for each host; hosts are IP addresses or names. Asks the name service for many
// names at the same time; blocks for as long as it takes to answer.
Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts);

// An address under which other machines reach this one: the first that is neither loopback nor
// link-local, IPv4 before IPv6.
Result<std::string> OutwardAddress();

}  // namespace autodist::reach
