// Lookup of users and hosts in all sources of this machine: files, DNS, and also LDAP, SSSD and
// mDNS. This program cannot load the modules of the latter (base/name_service.h), so it runs
// `getent`.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/ip_address.h"

namespace autodist::reach {

struct SystemUser {
  std::string name;  // both "" for an unknown user
  std::string home;
};

// The user of this process. The first call may block for 10 seconds. Thread-safe.
const SystemUser& ThisSystemUser();

// Whether the group is the private group of this user, as distributions create it: it has the
// user's name and no other member. Blocks like ThisSystemUser.
bool IsGroupOfThisUser(gid_t group);

// Returns all addresses of a host name, or `host` itself if it is an address. Blocks until the name
// service has answered. After the deadline a thread remains until then, and its answer is dropped.
Result<std::vector<base::IpAddress>> LookUp(const std::string& host, base::Deadline deadline);
// Returns getent's addresses of a host; empty if it is unknown, or at the deadline.
std::vector<base::IpAddress> AskGetentForHost(const std::string& host, base::Deadline deadline);

// Returns the folder in which OpenSSH looks for the user's .ssh: the home folder in the user
// database, whatever HOME is; HOME if the user is not in it.
std::string SshHomeFolder();

}  // namespace autodist::reach
