#include "chief/input/stdin_reader.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/thread.h"
#include "chief/input/raw_terminal.h"

namespace autodist::chief {

Result<std::unique_ptr<StdinReader>> StdinReader::Start(Events events) {
  std::unique_ptr<StdinReader> reader(new StdinReader(std::move(events)));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  reader->resized_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!reader->resized_.valid()) return ErrnoError(errno, "signalfd");
  AD_ASSIGN_OR_RETURN(reader->wake_, base::Pipe());
  AD_RETURN_IF_ERROR(base::SetNonBlocking(reader->wake_.second.get()));
  AD_RETURN_IF_ERROR(base::SetNonBlocking(reader->wake_.first.get()));
  AD_ASSIGN_OR_RETURN(reader->thread_, base::StartThread([&own = *reader] { own.Loop(); }));
  return reader;
}

StdinReader::~StdinReader() {
  if (!thread_.joinable()) return;
  wake_.second.Reset();
  thread_.join();
}

void StdinReader::Taken(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    Release(static_cast<size_t>(std::min<uint64_t>(bytes, ahead_)));
  }
  (void)!write(wake_.second.get(), "+", 1);  // a full pipe wakes it, too
}

void StdinReader::Release(size_t bytes) {
  ahead_ -= bytes;
  while (bytes > 0) {
    const size_t of_first = std::min(bytes, pieces_.front());
    bytes -= of_first;
    pieces_.front() -= of_first;
    if (pieces_.front() == 0) pieces_.pop_front();
  }
}

size_t StdinReader::Room() {
  const std::lock_guard lock(mutex_);
  return pieces_.size() >= kMaxPieces ? 0 : std::min(kPiece, kAhead - std::min(kAhead, ahead_));
}

void StdinReader::Loop() {
  std::array<char, kPiece> piece;
  bool ended = false;
  for (;;) {
    const size_t room = ended ? 0 : Room();
    pollfd fds[] = {{wake_.first.get(), POLLIN, 0},
                    {resized_.get(), POLLIN, 0},
                    {room > 0 ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) continue;
    if (fds[0].revents != 0 && read(wake_.first.get(), piece.data(), piece.size()) == 0) return;
    signalfd_siginfo info;
    if (fds[1].revents != 0 && read(resized_.get(), &info, sizeof info) == sizeof info) {
      events_.resized(RawTerminal::Size());
    }
    if (fds[2].revents == 0) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), room);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {  // end of input, or the terminal has closed
      ended = true;
      events_.end();
      continue;
    }
    const auto count = static_cast<size_t>(got);
    {
      const std::lock_guard lock(mutex_);
      ahead_ += count;
      pieces_.push_back(count);
    }
    const size_t to_be_taken = events_.bytes(std::string(piece.data(), count));
    const std::lock_guard lock(mutex_);
    Release(std::min(ahead_, count - std::min(count, to_be_taken)));
  }
}

}  // namespace autodist::chief
