// Passes bytes between a channel and a local socket in both directions; never blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"
#include "ssh/libssh2_session.h"

namespace autodist::ssh {

// For one thread.
class ChannelPump {
 public:
  explicit ChannelPump(base::UniqueFd local) : local_(std::move(local)) {}

  // Pumps until no more data moves (libssh2 may hold decrypted bytes that epoll does not know of),
  // or until it is the turn of others; then has_more() is true. Passes the program's standard error
  // to `on_errors`. Returns OK after the program's output has ended and been passed on, a failure
  // if the connection is lost, otherwise nullopt.
  std::optional<Status> Advance(Libssh2Session& session,
                                const std::function<void(std::string_view)>& on_errors);

  bool has_more() const { return has_more_; }

  int local() const { return local_.get(); }
  bool has_for_local() const { return !to_local_.empty(); }
  bool has_for_remote() const { return !to_remote_.empty() || (local_ended_ && !eof_sent_); }
  bool wants_local() const { return to_remote_.empty() && !local_ended_; }
  // Whether the other end of the local socket has been closed.
  bool local_ended() const { return local_ended_; }
  // The same while data from the other end have not yet been read.
  bool abandoned() const { return abandoned_; }
  bool may_be_abandoned() const { return !to_remote_.empty() && !local_ended_ && !abandoned_; }
  // A counter that grows whenever data pass the local socket.
  uint64_t moves() const { return moves_; }

 private:
  bool ReadRemote(Libssh2Session& session);
  bool WriteLocal();
  bool ReadLocal();
  bool WriteRemote(Libssh2Session& session);

  const base::UniqueFd local_;
  std::string to_local_;  // read from the channel, not yet written
  size_t to_local_begin_ = 0;
  std::string to_remote_;  // read here, not yet written
  size_t to_remote_begin_ = 0;
  bool local_ended_ = false;
  bool abandoned_ = false;
  bool eof_sent_ = false;
  bool remote_ended_ = false;
  bool has_more_ = false;
  uint64_t moves_ = 0;
  Status failure_;
};

}  // namespace autodist::ssh
