#include "base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace autodist::base {
namespace {

// Waits until `fd` is ready for `events`.
Status WaitFor(int fd, short events, Deadline deadline, std::string_view what) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, deadline.PollTimeout());
    if (ready > 0) return OkStatus();
    if (ready == 0) return Error(StatusCode::kDeadlineExceeded, std::string(what) + ": timed out");
    if (errno != EINTR) return ErrnoError(errno, what);
  }
}

}  // namespace

void UniqueFd::Reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

void OpenStandardStreams() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);  // the lowest free number
  if (fd >= 0) close(fd);
}

Result<FdPair> Pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError(errno, "pipe");
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Result<FdPair> StreamSocketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return ErrnoError(errno, "socketpair");
  }
  return FdPair{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Status SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return ErrnoError(errno, "fcntl");
  return OkStatus();
}

Status WriteAll(int fd, std::string_view data, Deadline deadline) {
  while (!data.empty()) {
    AD_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline, "write"));
    const ssize_t written = write(fd, data.data(), std::min<size_t>(data.size(), 65536));
    if (written < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return ErrnoError(errno, "write");
    }
    data.remove_prefix(static_cast<size_t>(written));
  }
  return OkStatus();
}

Status WaitReadable(int fd, Deadline deadline) { return WaitFor(fd, POLLIN, deadline, "read"); }

Result<size_t> ReadSome(int fd, char* buffer, size_t capacity, Deadline deadline) {
  for (;;) {
    AD_RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline, "read"));
    const ssize_t got = read(fd, buffer, capacity);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) return ErrnoError(errno, "read");
  }
}

Result<std::string> ReadWhole(int fd, const std::string& name, size_t limit) {
  std::string content;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, name);
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<size_t>(got));
    if (content.size() > limit) {
      return Error(StatusCode::kInvalidArgument,
                   name + ": larger than " + std::to_string(limit) + " bytes");
    }
  }
}

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  return ReadWhole(fd.get(), path, limit);
}

std::string LinkTarget(const std::string& link) {
  std::array<char, 4096> target;
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : "";
}

}  // namespace autodist::base
