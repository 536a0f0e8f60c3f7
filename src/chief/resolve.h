// The numeric addresses of a spec's nodes, and this machine's place among them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::chief {

// By address as the spec writes it. Blocks on the name service for host names; fails naming all
// that do not resolve.
Result<std::map<std::string, std::string>> ResolveAddresses(const spec::ResourceSpec& spec);

// Fails unless the chief's address is one of this machine's.
Status CheckChiefIsHere(const std::string& chief_address, const std::string& chief_ip);

// A TCP port that was free on this machine a moment ago.
Result<uint16_t> FreePort();

}  // namespace autodist::chief
