// Passes bytes between a channel and a local socket, both ways, without ever blocking.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/fd.h"
#include "transport/libssh2_session.h"

namespace autodist::transport {

// For one thread. Must outlive the session, which may refer to what is half written.
class ChannelPump {
 public:
  explicit ChannelPump(base::UniqueFd local) : local_(std::move(local)) {}

  // Until nothing moves any more: libssh2 may hold decrypted bytes that epoll knows nothing of.
  // Gives what the program writes to its standard error to `on_errors`. OK once the program's
  // output has ended and been passed on; a failure if the connection is lost; else nothing.
  std::optional<Status> Advance(Libssh2Session& session,
                                const std::function<void(std::string_view)>& on_errors);

  int local() const { return local_.get(); }
  // What it waits for, besides room to write to the channel.
  bool wants_remote() const { return to_local_.empty(); }
  bool wants_local() const { return to_remote_.empty() && !local_ended_; }
  // Whether the holder of the socket's other end has closed it.
  bool local_ended() const { return local_ended_; }

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
  bool eof_sent_ = false;
  bool remote_ended_ = false;
  Status failure_;
};

}  // namespace autodist::transport
