#include "agent/supervisor/rank_streams.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include <cerrno>
#include <utility>

namespace autodist::agent {
namespace {

Result<base::UniqueFd> Duplicate(const base::UniqueFd& fd) {
  base::UniqueFd copy(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return ErrnoError(errno, "duplicating a descriptor");
  return copy;
}

// Opens a pseudo-terminal, where the kernel handles Ctrl-C and line editing.
Result<RankStreams> OpenTerminal() {
  RankStreams streams;
  streams.ours.out.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const int master = streams.ours.out.get();
  int unlocked = 0;
  if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0) {
    return ErrnoError(errno, "a pseudo-terminal");
  }
  // Through the master, because a name in /dev/pts may belong to another instance.
  streams.ranks.in.Reset(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!streams.ranks.in.valid()) return ErrnoError(errno, "a pseudo-terminal");
  termios mode;
  if (tcgetattr(streams.ranks.in.get(), &mode) == 0) {
    mode.c_iflag |= IUTF8;  // otherwise Backspace would delete part of a character
    (void)tcsetattr(streams.ranks.in.get(), TCSANOW, &mode);
  }
  AD_RETURN_IF_ERROR(base::SetNonBlocking(master));
  AD_ASSIGN_OR_RETURN(streams.ours.in, Duplicate(streams.ours.out));
  AD_ASSIGN_OR_RETURN(streams.ranks.out, Duplicate(streams.ranks.in));
  AD_ASSIGN_OR_RETURN(streams.ranks.err, Duplicate(streams.ranks.in));
  return streams;
}

}  // namespace

Result<RankStreams> RankStreams::Open(RankStdin kind) {
  if (kind == RankStdin::kTerminal) return OpenTerminal();
  RankStreams streams;
  AD_ASSIGN_OR_RETURN(base::FdPair out, base::Pipe());
  AD_ASSIGN_OR_RETURN(base::FdPair err, base::Pipe());
  streams.ours.out = std::move(out.first);
  streams.ours.err = std::move(err.first);
  streams.ranks.out = std::move(out.second);
  streams.ranks.err = std::move(err.second);
  AD_RETURN_IF_ERROR(base::SetNonBlocking(streams.ours.out.get()));
  AD_RETURN_IF_ERROR(base::SetNonBlocking(streams.ours.err.get()));
  if (kind == RankStdin::kPipe) {
    AD_ASSIGN_OR_RETURN(base::FdPair in, base::Pipe());
    streams.ranks.in = std::move(in.first);
    streams.ours.in = std::move(in.second);
    AD_RETURN_IF_ERROR(base::SetNonBlocking(streams.ours.in.get()));
  }
  return streams;
}

}  // namespace autodist::agent
