// Opens TCP connections without blocking, and sets how they end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::base {

// Makes the connection fail if the peer acknowledges nothing for 15 seconds, and disables Nagle's
// algorithm.
void GiveUpWhenSilent(int fd);

// Whether the connection will be reset when its socket is closed, instead of ended regularly.
void ResetOnClose(int fd, bool reset = true);

// Returns a non-blocking socket with a connection attempt in progress; it becomes writable when the
// attempt has ended. Applies GiveUpWhenSilent. Fails with an errno value.
std::variant<UniqueFd, int> StartConnecting(const IpAddress& address, uint16_t port);

// Returns 0, the errno value if the connection failed, or EINPROGRESS.
int ConnectResult(int fd);

// Connects to the first of several addresses that answers. An attempt starts when the others have
// failed, or 250 ms after the previous one (as in RFC 8305). For one thread; never blocks.
class ConnectRace {
 public:
  struct Failed {
    IpAddress address;
    int error;  // an errno value
  };

  ConnectRace(std::vector<IpAddress> addresses, uint16_t port)
      : addresses_(std::move(addresses)), port_(port) {}

  // Starts the attempts that are due. Returns the first connection; nullopt: not yet.
  std::optional<UniqueFd> Advance();
  // The sockets of attempts in progress, which become writable when one has ended.
  std::vector<int> sockets() const;
  // When to call Advance at the latest.
  Deadline next() const { return begun_ < addresses_.size() ? begin_next_ : Deadline::Never(); }
  // Whether every address has failed, after Advance.
  bool lost() const { return attempts_.empty() && begun_ == addresses_.size(); }
  const std::vector<Failed>& failed() const { return failed_; }

 private:
  struct Attempt {
    IpAddress address;
    UniqueFd socket;
  };

  const std::vector<IpAddress> addresses_;
  const uint16_t port_;
  size_t begun_ = 0;  // addresses
  Deadline begin_next_ = Deadline::Never();
  std::vector<Attempt> attempts_;  // in progress
  std::vector<Failed> failed_;
};

}  // namespace autodist::base
