// A host name that is looked up on a thread of its own, as nothing can end a look-up.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ip_address.h"

namespace autodist::agent {

// Never blocks. The thread may outlive this object.
class HostLookup {
 public:
  explicit HostLookup(const std::string& host);

  // Readable once it is over; -1: it could not start, and is over.
  int fd() const;
  bool over() const;
  // Once it is over; none: the name does not resolve.
  std::vector<base::IpAddress> Addresses() const;

 private:
  struct Answer;
  std::shared_ptr<Answer> answer_;
};

}  // namespace autodist::agent
