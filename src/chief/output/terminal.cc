#include "chief/output/terminal.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

namespace autodist::chief {

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
  warnings_.push_back(std::string(stream == kStdout ? "stdout" : "stderr") + " takes no more (" +
                      Message(written) + "); the job goes on, and its output is in the log files");
  base::Log(base::LogLevel::kWarning, warnings_.back());
}

}  // namespace autodist::chief
