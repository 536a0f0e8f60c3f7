#include "agent/link/admission.h"

#include <fcntl.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/unix_socket.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::agent {
namespace {

using rpc::kGreetingSize;
using rpc::kKeySize;

constexpr std::chrono::milliseconds kGreetingLimit{60'000};  // for slow links after an outage
constexpr size_t kMaxPending = 16;
// The time without accepting if no descriptor is free.
constexpr std::chrono::milliseconds kNoDescriptorWait{100};

// Takes equally long for wrong and right keys.
bool SameKey(std::string_view a, std::string_view b) {
  if (a.size() != kKeySize || b.size() != kKeySize) return false;
  unsigned differences = 0;
  for (size_t i = 0; i < kKeySize; ++i) {
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differences == 0;
}

}  // namespace

Admission::Admission(AgentSockets sockets, grpc::Server& chief_server, grpc::Server& rank_server)
    : sockets_(std::move(sockets)), chief_server_(chief_server), rank_server_(rank_server) {
  pending_.push_back(
      {std::move(sockets_.first_chief), "", true, base::Deadline::After(kGreetingLimit)});
}

void Admission::SetKey(std::string key) {
  const std::lock_guard lock(mutex_);
  key_ = std::move(key);
}

bool Admission::HasRightKey(const std::string& greeting) const {
  const std::string_view keys = greeting;
  const std::lock_guard lock(mutex_);
  // The chief sends two keys: it may not know whether we have received the next one.
  return SameKey(keys.substr(0, kKeySize), key_) || SameKey(keys.substr(kKeySize), key_);
}

bool Admission::ReadGreeting(PendingConnection& pending) {
  char buffer[kGreetingSize];
  const ssize_t got =
      recv(pending.socket.get(), buffer, kGreetingSize - pending.greeting.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  pending.greeting.append(buffer, static_cast<size_t>(got));
  if (pending.greeting.size() < kGreetingSize) return true;
  if (pending.sets_key) {
    SetKey(pending.greeting.substr(0, kKeySize));
  } else if (!HasRightKey(pending.greeting)) {
    return false;
  }
  if (base::SetNonBlocking(pending.socket.get()).ok()) {
    grpc::AddInsecureChannelFromFd(&chief_server_, pending.socket.Release());
  }
  return false;
}

// Returns an invalid descriptor if there is no connection, or no free descriptor.
base::UniqueFd Admission::TakeConnection(int listener) {
  if (!spare_.valid()) spare_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (listener != sockets_.rank_listener.get()) {
    spare_.Reset();
  } else if (!spare_.valid()) {
    errno = EMFILE;
    return {};
  }
  return base::UniqueFd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Admission::Accept(int listener) {
  base::UniqueFd connection = TakeConnection(listener);
  if (!connection.valid()) {
    if (errno == EMFILE || errno == ENFILE) {
      accept_again_at_ = base::Deadline::After(kNoDescriptorWait);
    }
    return;
  }
  if (!base::PeerIsThisUser(connection.get())) return;
  if (listener == sockets_.rank_listener.get()) {
    grpc::AddInsecureChannelFromFd(&rank_server_, connection.Release());
  } else {
    // Closes the oldest unauthenticated connection, because the newest may be the chief's.
    if (pending_.size() >= kMaxPending) pending_.erase(pending_.begin());
    pending_.push_back({std::move(connection), "", false, base::Deadline::After(kGreetingLimit)});
  }
}

void Admission::Run(int stop, std::vector<Watched> watched) {
  for (;;) {
    const bool accepting = accept_again_at_.Expired();
    std::vector<pollfd> fds = {{stop, POLLIN, 0},
                               {accepting ? sockets_.chief_listener.get() : -1, POLLIN, 0},
                               {accepting ? sockets_.rank_listener.get() : -1, POLLIN, 0},
                               {accepting ? sockets_.named_listener.get() : -1, POLLIN, 0}};
    const size_t listeners_end = fds.size();
    for (const Watched& other : watched) fds.push_back({other.fd, POLLIN, 0});
    base::Deadline deadline = accepting ? base::Deadline::Never() : accept_again_at_;
    for (const PendingConnection& pending : pending_) {
      fds.push_back({pending.socket.get(), POLLIN, 0});
      deadline = std::min(deadline, pending.deadline);
    }
    if (poll(fds.data(), fds.size(), deadline.PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    size_t next = listeners_end;
    for (Watched& other : watched) {
      if (fds[next++].revents == 0) continue;
      if (!other.readable()) other.fd = -1;
    }
    std::erase_if(pending_, [&](PendingConnection& pending) {
      const bool ready = fds[next++].revents != 0;
      return (ready && !ReadGreeting(pending)) || pending.deadline.Expired();
    });
    for (size_t listener = 1; listener < listeners_end; ++listener) {
      if (fds[listener].revents != 0) Accept(fds[listener].fd);
    }
  }
}

}  // namespace autodist::agent
