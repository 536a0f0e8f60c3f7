// Resolves a host name on a separate thread, because a lookup cannot be cancelled.
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

  // Readable after the end; -1: it could not start, and has ended.
  int fd() const;
  bool over() const;
  // Call after the end; empty: the name does not resolve.
  std::vector<base::IpAddress> Addresses() const;

 private:
  struct Answer;
  std::shared_ptr<Answer> answer_;
};

}  // namespace autodist::agent
