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

constexpr std::chrono::milliseconds kGreetingLimit{60'000};  // over a slow link, after a cut
constexpr size_t kMostVisitors = 16;
// How long the doors stay closed when no descriptor is left.
constexpr std::chrono::milliseconds kNoDescriptorWait{100};

// Takes as long for a wrong key as for the right one.
bool SameKey(std::string_view a, std::string_view b) {
  if (a.size() != kKeySize || b.size() != kKeySize) return false;
  unsigned differences = 0;
  for (size_t i = 0; i < kKeySize; ++i) {
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differences == 0;
}

}  // namespace

Admission::Admission(Doors doors, grpc::Server& chief_server, grpc::Server& rank_server)
    : doors_(std::move(doors)), chief_server_(chief_server), rank_server_(rank_server) {
  visitors_.push_back({std::move(doors_.first), "", true, base::Deadline::After(kGreetingLimit)});
}

void Admission::SetKey(std::string key) {
  const std::lock_guard lock(mutex_);
  key_ = std::move(key);
}

bool Admission::IsRight(const std::string& greeting) const {
  const std::string_view keys = greeting;
  const std::lock_guard lock(mutex_);
  // The chief brings two: it may not know whether we have heard of the next.
  return SameKey(keys.substr(0, kKeySize), key_) || SameKey(keys.substr(kKeySize), key_);
}

bool Admission::Greet(Visitor& visitor) {
  char buffer[kGreetingSize];
  const ssize_t got =
      recv(visitor.socket.get(), buffer, kGreetingSize - visitor.greeting.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  visitor.greeting.append(buffer, static_cast<size_t>(got));
  if (visitor.greeting.size() < kGreetingSize) return true;
  if (visitor.brings_key) {
    SetKey(visitor.greeting.substr(0, kKeySize));
  } else if (!IsRight(visitor.greeting)) {
    return false;
  }
  if (base::SetNonBlocking(visitor.socket.get()).ok()) {
    grpc::AddInsecureChannelFromFd(&chief_server_, visitor.socket.Release());
  }
  return false;
}

// Invalid if there is none, or nothing to hold it by.
base::UniqueFd Admission::TakeConnection(int door) {
  if (!spare_.valid()) spare_.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (door == doors_.chief.get()) {
    spare_.Reset();
  } else if (!spare_.valid()) {
    errno = EMFILE;
    return {};
  }
  return base::UniqueFd(accept4(door, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Admission::Accept(int door) {
  base::UniqueFd connection = TakeConnection(door);
  if (!connection.valid()) {
    if (errno == EMFILE || errno == ENFILE) {
      closed_until_ = base::Deadline::After(kNoDescriptorWait);
    }
    return;
  }
  if (!base::PeerIsThisUser(connection.get())) return;
  if (door == doors_.ranks.get()) {
    grpc::AddInsecureChannelFromFd(&rank_server_, connection.Release());
  } else {
    // Of many who say nothing the oldest goes, not the newest, who may be the chief.
    if (visitors_.size() >= kMostVisitors) visitors_.erase(visitors_.begin());
    visitors_.push_back({std::move(connection), "", false, base::Deadline::After(kGreetingLimit)});
  }
}

void Admission::Run(int stop, std::vector<Watched> watched) {
  for (;;) {
    const bool open = closed_until_.Expired();
    std::vector<pollfd> fds = {{stop, POLLIN, 0},
                               {open ? doors_.chief.get() : -1, POLLIN, 0},
                               {open ? doors_.ranks.get() : -1, POLLIN, 0}};
    for (const Watched& other : watched) fds.push_back({other.fd, POLLIN, 0});
    base::Deadline deadline = open ? base::Deadline::Never() : closed_until_;
    for (const Visitor& visitor : visitors_) {
      fds.push_back({visitor.socket.get(), POLLIN, 0});
      deadline = std::min(deadline, visitor.deadline);
    }
    if (poll(fds.data(), fds.size(), deadline.PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    size_t next = 3;
    for (Watched& other : watched) {
      if (fds[next++].revents == 0) continue;
      if (!other.readable()) other.fd = -1;
    }
    std::erase_if(visitors_, [&](Visitor& visitor) {
      const bool ready = fds[next++].revents != 0;
      return (ready && !Greet(visitor)) || visitor.deadline.Expired();
    });
    for (const size_t door : {1u, 2u}) {
      if (fds[door].revents != 0) Accept(fds[door].fd);
    }
  }
}

}  // namespace autodist::agent
