#include "slurm/sealed_key.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "transport/local.h"

namespace autodist::slurm {
namespace {

constexpr std::chrono::seconds kMungeLimit{30};
constexpr size_t kMaxCredential = 4096;  // bytes

Status NotSealed(StatusCode code, const std::string& why) {
  return WithRemedy(Error(code, "encrypting the job's key for the nodes: munge: " + why),
                    "Slurm here uses munge (AuthType=auth/munge): the program munge has to be in "
                    "PATH, and munged "
                    "has to run on this machine; try `munge -n`");
}

}  // namespace

Result<std::string> SealedKeyLine(const std::string& key_line, const std::string& socket) {
  const base::Deadline deadline = base::Deadline::After(kMungeLimit);
  // Requests munged's maximum lifetime, because a step may start late.
  std::vector<std::string> argv = {"munge", "--restrict-uid=" + std::to_string(geteuid()),
                                   "--ttl=-1"};
  if (!socket.empty()) argv.push_back("--socket=" + socket);
  const auto munge = transport::StartOurProgram(argv);
  if (!munge.ok()) return NotSealed(munge.status().code(), Message(munge.status()));
  base::UniqueFd input = (*munge)->TakeSocket();
  // If it has ended, its output has the reason.
  const Status written = base::WriteAll(input.get(), key_line, deadline);
  shutdown(input.get(), SHUT_WR);
  std::string line;
  char bytes[kMaxCredential];
  while (line.size() <= kMaxCredential) {
    const auto got = base::ReadSome(input.get(), bytes, sizeof bytes, deadline);
    if (!got.ok() && deadline.Expired()) {
      return NotSealed(got.status().code(), Message(got.status()));
    }
    if (!got.ok() || *got == 0) break;
    line.append(bytes, *got);
  }
  (*munge)->WaitClosed(deadline);
  if ((*munge)->ExitStatus() != 0) {
    std::string said = (*munge)->StderrTail();
    while (said.ends_with('\n')) said.pop_back();
    return NotSealed(StatusCode::kUnavailable, said.empty() ? "failed" : base::Printable(said));
  }
  if (!written.ok()) return NotSealed(written.code(), Message(written));
  const bool one_line = line.find('\n') == line.size() - 1 && line.size() <= kMaxCredential;
  if (!line.starts_with("MUNGE:") || !one_line) {
    return NotSealed(StatusCode::kInternal, "printed no credential");
  }
  return line;
}

}  // namespace autodist::slurm
