// Connections with several addresses, one begun shortly after the other, of which the first that is
// made counts (as in RFC 8305): an address that nobody answers at holds up the others little.
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

  // "10.0.0.1:4711", "[fe80::1%eth0]:4711", "pod-0.service:4711".
  static std::optional<ChiefAddress> Parse(const std::string& text);
};

// Without those that lead to this machine, unless all do: many machines have some, of a bridge for
// containers say.
std::vector<ChiefAddress> WithoutOurs(std::vector<ChiefAddress> addresses);

// Never blocks. For one thread.
class Connecting {
 public:
  explicit Connecting(const std::vector<ChiefAddress>& addresses);

  struct Connected {
    size_t address;  // of those given
    base::UniqueFd socket;
  };
  // Begins and ends what is due. The next connection that has been made, if one has.
  std::optional<Connected> Advance();
  // What it waits for, until next().
  std::vector<pollfd> Polled() const;
  base::Deadline next() const;
  // Nothing is left to come of it.
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
