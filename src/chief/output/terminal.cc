#include "chief/output/terminal.h"

#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

namespace autodist::chief {
namespace {

// Of a pipe or a socket.
bool ReaderHasGone(int fd) {
  pollfd look{fd, POLLOUT, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & POLLERR) != 0;
}

}  // namespace

void Terminal::Flush() {
  Flush(kStdout);
  Flush(kStderr);
}

void Terminal::Flush(Stream stream) {
  std::string& text = pending_[stream];
  if (closed_[stream]) text.clear();
  if (text.empty()) return;
  const int fd = stream == kStdout ? STDOUT_FILENO : STDERR_FILENO;
  const Status written = base::WriteAll(fd, text, base::Deadline::Never());
  text.clear();  // and keeps its room for what comes next
  if (written.ok()) return;
  closed_[stream] = true;
  const std::string what = std::string(stream == kStdout ? "stdout" : "stderr") +
                           " takes no more (" + Message(written) +
                           "); the job goes on, and its output is in the log files";
  base::Log(base::LogLevel::kWarning, what);
  if (!ReaderHasGone(fd)) warnings_.push_back(what);
}

}  // namespace autodist::chief
