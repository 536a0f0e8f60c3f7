// Host names, as the name service of this machine knows them.
#pragma once

#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/ip_address.h"

namespace autodist::reach {

// All addresses of a host name, or the one that `host` is. Blocks until the name service has
// answered; what it answers after the deadline is lost, and so is a thread until then.
Result<std::vector<base::IpAddress>> LookUp(const std::string& host, base::Deadline deadline);

}  // namespace autodist::reach
