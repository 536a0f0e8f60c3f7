// Users and hosts, where this machine knows them by more than its own files and DNS: LDAP, SSSD,
// mDNS. The modules for those belong to the machine's C library, and abort a program that has one
// of its own, as autodist has where it is static; `getent`, a program of the machine, may ask them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/ip_address.h"

namespace autodist::reach {

// For a program's start, before anything is looked up: what getaddrinfo and getpwuid find is that
// of the machine's files and DNS, whatever /etc/nsswitch.conf says.
void UseFilesAndDns();

struct SystemUser {
  std::string name;  // both "" if nothing knows the user
  std::string home;
};

// The user whose process this is. The first call may block for 10 seconds. Thread-safe.
const SystemUser& ThisSystemUser();

// Whether the group is that of this user alone, as distributions make one for each user: it has the
// user's name and no other member. Blocks as ThisSystemUser does.
bool IsGroupOfThisUser(gid_t group);

// What getent says of a host; none if it knows nothing, or not in time.
std::vector<base::IpAddress> AskGetentForHost(const std::string& host, base::Deadline deadline);

// Where OpenSSH looks for the user's .ssh, whatever HOME is: the folder that the system knows for
// this user; HOME where it knows none.
std::string SshHomeFolder();

}  // namespace autodist::reach
