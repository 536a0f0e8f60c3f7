// Host name lookup in this machine's files and DNS.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/ip_address.h"

namespace autodist::base {

// Makes getaddrinfo and getpwuid use only the machine's files and DNS, whatever /etc/nsswitch.conf
// says. Other NSS modules are built for the machine's C library and abort a program with a
// statically linked one. Call at program start, before any lookup.
void UseFilesAndDns();

// Returns all addresses of a host name. Blocks as long as the name service does; cannot be
// cancelled.
Result<std::vector<IpAddress>> AddressesOf(const std::string& host);

}  // namespace autodist::base
