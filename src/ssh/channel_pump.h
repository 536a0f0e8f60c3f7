// Passes bytes between a channel and a local socket, both ways, without ever blocking.
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

  // Until nothing moves any more, as libssh2 may hold decrypted bytes that epoll knows nothing of,
  // or for as long as is fair to others, which has_more() tells. Gives what the program writes to
  // its standard error to `on_errors`. OK once the program's output has ended and been passed on; a
  // failure if the connection is lost; else nothing.
  std::optional<Status> Advance(Libssh2Session& session,
                                const std::function<void(std::string_view)>& on_errors);

  bool has_more() const { return has_more_; }

  int local() const { return local_.get(); }
  bool has_for_local() const { return !to_local_.empty(); }
  bool has_for_remote() const { return !to_remote_.empty() || (local_ended_ && !eof_sent_); }
  bool wants_local() const { return to_remote_.empty() && !local_ended_; }
  // Whether the holder of the socket's other end has closed it.
  bool local_ended() const { return local_ended_; }
  // The same, where what the holder has written is still to be read.
  bool abandoned() const { return abandoned_; }
  bool may_be_abandoned() const { return !to_remote_.empty() && !local_ended_ && !abandoned_; }
  // Grows with whatever goes through the local socket.
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
