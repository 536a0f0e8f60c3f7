#include "transport/hand_over.h"

#include <sys/socket.h>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/quantity.h"
#include "transport/local.h"

namespace autodist::transport {
namespace {

constexpr size_t kMaxSaid = 64 << 10;  // bytes

}  // namespace

Result<std::string> HandOver(const std::vector<std::string>& argv, const std::string& text,
                             std::chrono::seconds limit) {
  AD_ASSIGN_OR_RETURN(const auto program, StartProgram(argv));
  const base::Deadline deadline = base::Deadline::After(limit);
  const base::UniqueFd socket = program->TakeSocket();
  // If it has already ended, its output explains the error.
  (void)base::WriteAll(socket.get(), text, deadline).ok();
  shutdown(socket.get(), SHUT_WR);
  std::string said;
  char buffer[4096];
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer, sizeof buffer, deadline);
    if (!got.ok() || *got == 0 || said.size() > kMaxSaid) break;
    said.append(buffer, *got);
  }
  if (!program->WaitClosed(deadline)) {
    return Error(StatusCode::kDeadlineExceeded,
                 argv[0] + " has not ended within " + base::Seconds(limit));
  }
  if (program->ExitStatus() == 0) return said;
  std::string why = program->StderrTail();
  while (why.ends_with('\n')) why.pop_back();
  return Error(StatusCode::kInvalidArgument, why);
}

}  // namespace autodist::transport
