// Passes bytes between a channel and a local socket in both directions, and detects connections
// without progress.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/quantity.h"
#include "ssh/libssh2_session.h"
#include "transport/reach_causes.h"

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

// For one thread.
class ProgressWatch {
 public:
  // The maximum time in which a server may accept no data although data wait for it.
  static constexpr std::chrono::milliseconds kSendLimit{20'000};
  // The maximum number of consecutive turns of a connection without progress. A connection that
  // waits for data which have already been received gets such turns without end.
  static constexpr int kMaxIdleTurns = 100'000;

  explicit ProgressWatch(std::chrono::milliseconds send_limit = kSendLimit)
      : send_limit_(send_limit) {}

  // Call after each turn. `moved` changes whenever data have moved; `sending`: data wait for the
  // other side to accept them.
  Status Turn(uint64_t moved, bool sending) {
    const bool moves = moved != moved_;
    moved_ = moved;
    idle_turns_ = moves ? 0 : idle_turns_ + 1;
    if (idle_turns_ > kMaxIdleTurns) {
      return transport::CauseError(transport::cause::kNoProgress);
    }
    if (!sending) {
      deadline_ = base::Deadline::Never();
    } else if (moves || !sending_) {
      deadline_ = base::Deadline::After(send_limit_);
    } else if (deadline_.Expired()) {
      return transport::CauseError(transport::cause::kStalled,
                                   {{"{limit}", base::Seconds(send_limit_)}});
    }
    sending_ = sending;
    return OkStatus();
  }

  // Returns the time of the next turn at the latest.
  base::Deadline deadline() const { return deadline_; }

 private:
  const std::chrono::milliseconds send_limit_;
  base::Deadline deadline_ = base::Deadline::Never();
  uint64_t moved_ = 0;
  bool sending_ = false;
  int idle_turns_ = 0;
};

}  // namespace autodist::ssh
