// Users and hosts as this machine knows them, also by more than its own files and DNS: LDAP, SSSD,
// mDNS. This program may not ask those (base/name_service.h), but `getent`, one of the machine's,
// may.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "autodist/status.h"
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

// All addresses of a host name, or the one that `host` is. Blocks until the name service has
// answered; what it answers after the deadline is lost, and so is a thread until then.
Result<std::vector<base::IpAddress>> LookUp(const std::string& host, base::Deadline deadline);
// What getent says of a host; none if it knows nothing, or not in time.
std::vector<base::IpAddress> AskGetentForHost(const std::string& host, base::Deadline deadline);

// Where OpenSSH looks for the user's .ssh, whatever HOME is: the folder that the system knows for
// this user; HOME where it knows none.
std::string SshHomeFolder();

}  // namespace autodist::reach
