// Users and hosts, where this machine knows them by more than its own files and DNS: LDAP, SSSD,
// mDNS. This program may not ask them (base/name_service.h), but `getent`, one of the machine's,
// may.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/ip_address.h"

namespace autodist::reach {

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
