#include "transport/local.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "process/spawn.h"

namespace autodist::transport {
namespace {

constexpr off_t kTail = 4096;  // last bytes of stderr that are kept for messages
constexpr std::chrono::milliseconds kEndLimit{2000};

}  // namespace

ProgramStream::~ProgramStream() {
  socket_.Reset();
  // Closing the input asks the program to end; one that does not is killed.
  if (!WaitClosed(base::Deadline::After(kEndLimit))) kill(pid_, SIGKILL);
  process::Reap(pid_);
}

std::string ProgramStream::StderrTail() const {
  const off_t size = lseek(errors_.get(), 0, SEEK_END);
  std::string text(static_cast<size_t>(std::clamp<off_t>(size, 0, kTail)), '\0');
  const ssize_t got =
      pread(errors_.get(), text.data(), text.size(), std::max<off_t>(size - kTail, 0));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::optional<int> ProgramStream::ExitStatus() const {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return {};
  return info.si_code == CLD_EXITED ? std::optional(info.si_status) : std::nullopt;
}

Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv) {
  return StartProgram(argv, process::Environment::FromStrings(environ));
}

Result<std::unique_ptr<ProgramStream>> StartOurProgram(const std::vector<std::string>& argv) {
  return StartProgram(argv, process::Environment::FromStrings(environ).ForOurPrograms());
}

Result<std::unique_ptr<ProgramStream>> StartProgram(const std::vector<std::string>& argv,
                                                    const process::Environment& environment) {
  AD_ASSIGN_OR_RETURN(base::FdPair sockets, base::StreamSocketPair());
  base::UniqueFd errors(memfd_create("stderr", MFD_CLOEXEC));
  if (!errors.valid()) return ErrnoError(errno, "memfd_create");
  process::SpawnRequest request = process::OurProgram(argv, environment);
  request.stdin_fd = request.stdout_fd = sockets.second.get();
  request.stderr_fd = errors.get();
  request.dies_with_thread = false;  // the starting thread may be short-lived
  AD_ASSIGN_OR_RETURN(const pid_t pid, process::Spawn(request));
  auto end = process::EndOf(pid);
  if (!end.ok()) {
    kill(pid, SIGKILL);
    process::Reap(pid);
    return end.status();
  }
  return std::unique_ptr<ProgramStream>(
      new ProgramStream(pid, std::move(*end), std::move(sockets.first), std::move(errors)));
}

Result<std::string> OutputOf(ProgramStream& program, base::Deadline deadline, size_t most) {
  const base::UniqueFd socket = program.TakeSocket();
  std::string output;
  std::array<char, 16384> buffer;
  for (;;) {
    const auto got = base::ReadSome(socket.get(), buffer.data(), buffer.size(), deadline);
    AD_RETURN_IF_ERROR(Annotate(got.status(), "reading what a program prints"));
    if (*got == 0) break;
    output.append(buffer.data(), *got);
    if (output.size() > most) {
      return Error(StatusCode::kResourceExhausted, "a program prints without end");
    }
  }
  program.WaitClosed(deadline);
  return output;
}

Result<std::unique_ptr<Stream>> LocalTransport::Run(const std::vector<std::string>& argv,
                                                    const std::stop_token& stop) {
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  AD_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, StartProgram(argv));
  return stream;
}

}  // namespace autodist::transport
