// Connects to several addresses in parallel, each started shortly after the previous one, and uses
// the first success (as in RFC 8305): an unreachable address causes little delay.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "agent/life/host_lookup.h"
#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {

struct ChiefAddress {
  std::string host;  // or a numeric address
  uint16_t port = 0;

  // Parses "10.0.0.1:4711", "[fe80::1%eth0]:4711", "pod-0.service:4711".
  static std::optional<ChiefAddress> Parse(const std::string& text);
};

// Removes addresses of this machine, unless all are: many machines have some in common, for example
// of a container bridge.
std::vector<ChiefAddress> WithoutOurs(std::vector<ChiefAddress> addresses);

// Never blocks. For one thread.
class Connecting {
 public:
  explicit Connecting(const std::vector<ChiefAddress>& addresses);

  struct Connected {
    size_t address;  // index in the given list
    base::UniqueFd socket;
  };
  // Starts and ends attempts that are due. Returns the next established connection, if any.
  std::optional<Connected> Advance();
  // Returns the descriptors to wait for, until next().
  std::vector<pollfd> Polled() const;
  base::Deadline next() const;
  // Whether no further connection is possible.
  bool over() const { return to_begin_.empty() && lookups_.empty() && attempts_.empty(); }

 private:
  struct ToBegin {
    size_t address;
    std::string host;
    uint16_t port;
  };
  struct Lookup {
    ToBegin of;
    HostLookup lookup;
    base::Deadline deadline;
  };
  struct Attempt {
    size_t address;
    base::UniqueFd socket;
    base::Deadline deadline;
  };

  void Begin();
  void TakeLookups();

  std::deque<ToBegin> to_begin_;
  std::list<Lookup> lookups_;
  std::list<Attempt> attempts_;
  base::Deadline begin_next_;
};

}  // namespace autodist::agent
