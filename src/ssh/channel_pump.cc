#include "ssh/channel_pump.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace autodist::ssh {
namespace {

constexpr size_t kBufferSize = 64 * 1024;
// Rounds of reading and writing before the loop's other sessions have their turn.
constexpr int kMaxRounds = 64;

bool NotNow() { return errno == EAGAIN || errno == EINTR; }

Status LostBecause(const std::string& cause) {
  return transport::CauseError(transport::cause::kConnectionLost, {{"{said}", cause}});
}

}  // namespace

std::optional<Status> ChannelPump::Advance(Libssh2Session& session,
                                           const std::function<void(std::string_view)>& on_errors) {
  has_more_ = true;
  for (int round = 0; has_more_ && failure_.ok() && round < kMaxRounds; ++round) {
    char errors[Libssh2Session::kReadSize];
    const ssize_t got = session.ReadErrors(errors);
    if (got > 0) on_errors({errors, static_cast<size_t>(got)});
    has_more_ = got > 0;
    has_more_ |= ReadRemote(session);
    if (!failure_.ok()) break;
    has_more_ |= WriteLocal();
    has_more_ |= ReadLocal();
    has_more_ |= WriteRemote(session);
  }
  if (!failure_.ok()) return failure_;
  if (may_be_abandoned()) {
    pollfd holder{local_.get(), POLLRDHUP, 0};
    abandoned_ = poll(&holder, 1, 0) > 0;
  }
  if (remote_ended_ && to_local_.empty()) return OkStatus();
  return std::nullopt;
}

bool ChannelPump::ReadRemote(Libssh2Session& session) {
  if (!to_local_.empty() || remote_ended_) return false;
  char buffer[Libssh2Session::kReadSize];
  const ssize_t got = session.Read(buffer);
  to_local_.assign(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  to_local_begin_ = 0;
  if (got > 0) return true;
  if (got == 0 && session.RemoteEnded()) remote_ended_ = true;
  if (got < 0 && !session.WouldBlock()) failure_ = LostBecause(session.LastError());
  return false;
}

bool ChannelPump::WriteLocal() {
  if (to_local_.empty()) return false;
  const ssize_t put = send(local_.get(), to_local_.data() + to_local_begin_,
                           to_local_.size() - to_local_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put < 0 && NotNow()) return false;
  // The local end is closed: drops the data.
  to_local_begin_ = put < 0 ? to_local_.size() : to_local_begin_ + static_cast<size_t>(put);
  ++moves_;
  if (to_local_begin_ == to_local_.size()) to_local_.clear();
  return true;
}

bool ChannelPump::ReadLocal() {
  if (!to_remote_.empty() || local_ended_) return false;
  char buffer[kBufferSize];
  const ssize_t got = recv(local_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  const bool not_now = got < 0 && NotNow();
  to_remote_.assign(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  to_remote_begin_ = 0;
  local_ended_ = got <= 0 && !not_now;
  if (!not_now) ++moves_;
  return !not_now;
}

bool ChannelPump::WriteRemote(Libssh2Session& session) {
  if (to_remote_.empty()) {
    if (!local_ended_ || eof_sent_) return false;
    eof_sent_ = session.SendEof();
    return eof_sent_;
  }
  const ssize_t put = session.Write(std::string_view(to_remote_).substr(to_remote_begin_));
  if (put < 0 && session.WouldBlock()) return false;
  if (put < 0) {
    // The program may have ended without reading everything; its output shows that.
    to_remote_.clear();
    if (!session.RemoteEnded()) failure_ = LostBecause(session.LastError());
    return false;
  }
  to_remote_begin_ += static_cast<size_t>(put);
  if (to_remote_begin_ == to_remote_.size()) to_remote_.clear();
  return put > 0;
}

}  // namespace autodist::ssh
