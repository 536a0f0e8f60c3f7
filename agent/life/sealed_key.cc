#include "agent/life/sealed_key.h"

#include <absl/strings/numbers.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

using base::Deadline;

constexpr std::chrono::seconds kUnmungeLimit{30};
constexpr std::chrono::seconds kUnmungeKillLimit{5};
constexpr size_t kMaxOutput = 4096;  // bytes

Status NotOpened(StatusCode code, const std::string& why) {
  return WithRemedy(
      Error(code, "decrypting the job's key: unmunge: " + why),
      "Slurm here uses munge: the program unmunge has to be in PATH on this node, and munged has "
      "to run there with the same key; try `munge -n | srun --nodes=1 --nodelist=NODE unmunge`");
}

// Uses memory, because the program may end before it has read or written everything.
Result<base::UniqueFd> MemoryFileWith(std::string_view content) {
  base::UniqueFd fd(memfd_create("autodist", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "memfd_create");
  AD_RETURN_IF_ERROR(base::WriteAll(fd.get(), content, Deadline::Never()));
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string Content(const base::UniqueFd& fd) {
  std::string text(kMaxOutput, '\0');
  const ssize_t got = pread(fd.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// Waits for the program's end, and kills it at the limit.
Status AwaitEnd(pid_t pid) {
  const auto end = process::EndOf(pid);
  Status ended = end.status();
  if (end.ok()) ended = base::WaitReadable(end->get(), Deadline::After(kUnmungeLimit));
  if (ended.ok()) {
    process::Reap(pid);
    return OkStatus();
  }
  kill(pid, SIGKILL);
  if (end.ok() && base::WaitReadable(end->get(), Deadline::After(kUnmungeKillLimit)).ok()) {
    process::Reap(pid);
  }
  return ended;
}

// Parses "UID:     ada (1000)", or "UID:     1000"; -1: no such line.
int64_t UidIn(std::string_view line) {
  if (!line.starts_with("UID:")) return -1;
  if (line.ends_with(')')) line.remove_suffix(1);
  line.remove_prefix(line.find_last_not_of("0123456789") + 1);
  int64_t uid = -1;
  return absl::SimpleAtoi(std::string(line), &uid) ? uid : -1;
}

}  // namespace

Result<std::string> OpenSealedKey(const std::string& credential, const std::string& socket) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd input, MemoryFileWith(credential));
  AD_ASSIGN_OR_RETURN(const base::UniqueFd output, MemoryFileWith(""));
  AD_ASSIGN_OR_RETURN(const base::UniqueFd errors, MemoryFileWith(""));
  std::vector<std::string> argv = {"unmunge", "--keys=UID"};
  if (!socket.empty()) argv.push_back("--socket=" + socket);
  process::SpawnRequest request = process::OurProgram(argv);
  request.stdin_fd = input.get();
  request.stdout_fd = output.get();
  request.stderr_fd = errors.get();
  const auto pid = process::Spawn(request);
  if (!pid.ok()) return NotOpened(pid.status().code(), Message(pid.status()));
  const Status ended = AwaitEnd(*pid);
  if (!ended.ok()) return NotOpened(ended.code(), Message(ended));
  // Ignores its exit status: it prints the content only if munged has verified the credential, even
  // if another task on this machine has decoded it before, or if it has expired.
  const std::string text = Content(output);
  const size_t end_of_uid = text.find("\n\n");
  if (end_of_uid == std::string::npos) {
    std::string said = base::Printable(Content(errors));
    while (said.ends_with('\n')) said.pop_back();
    return NotOpened(StatusCode::kUnauthenticated, said.empty() ? "printed nothing" : said);
  }
  // Any user can create credentials for us.
  const int64_t uid = UidIn(std::string_view(text).substr(0, end_of_uid));
  if (uid != static_cast<int64_t>(geteuid())) {
    return Error(StatusCode::kPermissionDenied, "the job's key is of the user with number " +
                                                    std::to_string(uid) + ", but this is number " +
                                                    std::to_string(geteuid()));
  }
  return text.substr(end_of_uid + 2);
}

}  // namespace autodist::agent
