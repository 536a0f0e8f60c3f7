// The host names that this machine's files and DNS know.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/ip_address.h"

namespace autodist::base {

// For a program's start, before anything is looked up: what getaddrinfo and getpwuid find is that
// of the machine's files and DNS, whatever /etc/nsswitch.conf says. Its modules for others belong
// to the machine's C library, and abort a program that has one of its own.
void UseFilesAndDns();

// All addresses of a host name. Blocks for as long as the name service does, which nothing can end.
Result<std::vector<IpAddress>> AddressesOf(const std::string& host);

}  // namespace autodist::base
