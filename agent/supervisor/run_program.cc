#include "agent/supervisor/run_program.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/quantity.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kKillLimit{5000};
constexpr milliseconds kMeasureInterval{20};  // of checks of the output size
constexpr size_t kShownOutput = 2000;         // bytes

// Creates a file in memory: unlike a pipe it accepts data without a reader, even from a process
// that outlives the program.
Result<base::UniqueFd> MemoryFile() {
  base::UniqueFd fd(memfd_create("autodist", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, "memfd_create");
  return fd;
}

size_t SizeOf(const base::UniqueFd& fd) {
  struct stat info;
  return fstat(fd.get(), &info) == 0 ? static_cast<size_t>(info.st_size) : 0;
}

// Returns the last `limit` bytes.
std::string Contents(const base::UniqueFd& fd, size_t limit) {
  const size_t size = SizeOf(fd);
  std::string text(std::min(size, limit), '\0');
  const ssize_t got =
      pread(fd.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(wait_status));
  }
  return wait_status == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

// Waits until it has ended: returns why it must be killed, or "".
std::string Await(const std::future<Result<int>>& ended, milliseconds limit,
                  const std::stop_token& stop, const base::UniqueFd& result,
                  const base::UniqueFd& said, bool& timed_out) {
  const base::Deadline deadline = base::Deadline::After(limit);
  const auto next_look = [&] {
    return std::min(deadline, base::Deadline::After(kMeasureInterval)).when();
  };
  while (ended.wait_until(next_look()) != std::future_status::ready) {
    if (stop.stop_requested()) return "was cancelled";
    timed_out = deadline.Expired();
    if (timed_out) return "did not end within " + base::Seconds(limit);
    if (std::max(SizeOf(result), SizeOf(said)) > kMaxWritten) {
      return "wrote more than " + std::to_string(kMaxWritten >> 20) + " MiB";
    }
  }
  return "";
}

}  // namespace

Result<ProgramOutput> RunProgram(const ProgramCommand& command, milliseconds limit,
                                 Supervisor& supervisor) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd result, MemoryFile());
  AD_ASSIGN_OR_RETURN(const base::UniqueFd said, MemoryFile());
  process::SpawnRequest spawn;
  spawn.argv = command.argv;
  spawn.environment = command.environment.ToStrings();
  spawn.working_directory = command.working_directory;
  spawn.stdout_fd = command.result_on_descriptor_3 ? said.get() : result.get();
  spawn.stderr_fd = said.get();
  if (command.result_on_descriptor_3) spawn.extra_fd = result.get();
  Supervisor::Running running = supervisor.Run(std::move(spawn));

  ProgramOutput output;
  output.failure = Await(running.ended, limit, command.stop, result, said, output.timed_out);
  if (!output.failure.empty()) {
    supervisor.KillRun(running.id);
    if (running.ended.wait_for(kKillLimit) != std::future_status::ready) {
      return Error(StatusCode::kDeadlineExceeded,
                   command.argv.at(0) + " " + output.failure + ", and could not be killed");
    }
  }
  AD_ASSIGN_OR_RETURN(const int wait_status, running.ended.get());
  if (output.failure.empty()) output.failure = HowItEnded(wait_status);
  if (WIFEXITED(wait_status)) output.exit_code = WEXITSTATUS(wait_status);
  if (output.failure.empty() && SizeOf(result) > kMaxWritten) {
    output.failure = "wrote more than " + std::to_string(kMaxWritten >> 20) + " MiB";
  }
  output.result = Contents(result, kMaxWritten);
  output.said = Contents(said, kShownOutput);
  while (output.said.ends_with('\n')) output.said.pop_back();
  return output;
}

}  // namespace autodist::agent
