#include "agent/life/hold.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "agent/life/guardian.h"
#include "base/unix_socket.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kHolderLimit{30};  // a step may have to wait for others to begin

std::string SocketIn(const JobFolder& folder) { return folder.path() + "/hold.sock"; }

// With a reader of its own, so that neither opening nor writing has to wait for the holder.
Result<base::UniqueFd> OpenPipe(const std::string& path) {
  base::UniqueFd pipe(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!pipe.valid() || fstat(pipe.get(), &info) != 0) return ErrnoError(errno, path);
  if (S_ISFIFO(info.st_mode) && info.st_uid == geteuid()) return pipe;
  return Error(StatusCode::kPermissionDenied, path + " is not a named pipe of this user's");
}

Result<base::UniqueFd> Accept(int listener, base::Deadline deadline) {
  for (;;) {
    const Status came = base::WaitReadable(listener, deadline);
    if (!came.ok()) {
      return WithRemedy(
          Error(StatusCode::kDeadlineExceeded, "the step that is to hold the agent did not begin"),
          "does `srun --overlap hostname` run at once in this allocation?");
    }
    base::UniqueFd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid() && base::PeerIsThisUser(connection.get())) return connection;
  }
}

}  // namespace

Result<HeldAgent> StartInHolder(const std::string& pipe, const JobFolder& folder) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoError(error.value(), "/proc/self/exe");
  const base::Deadline deadline = base::Deadline::After(kHolderLimit);
  AD_ASSIGN_OR_RETURN(const base::UniqueFd listener, base::ListenAt(SocketIn(folder)));
  AD_ASSIGN_OR_RETURN(const base::UniqueFd writer, OpenPipe(pipe));
  AD_RETURN_IF_ERROR(base::WriteAll(writer.get(), program + "\n", deadline));
  HeldAgent held;
  AD_ASSIGN_OR_RETURN(held.chief, Accept(listener.get(), deadline));
  AD_ASSIGN_OR_RETURN(held.starter, Accept(listener.get(), deadline));
  unlink(SocketIn(folder).c_str());
  return held;
}

base::UniqueFd DismissHolder(const std::string& pipe) {
  auto writer = OpenPipe(pipe);
  if (!writer.ok()) return {};
  (void)base::WriteAll(writer->get(), "\n", base::Deadline::After(kHolderLimit)).ok();
  return *std::move(writer);
}

int Hold(int argc, char** argv) {
  constexpr int kArguments = 8;
  if (argc != kArguments) return kFailed;
  AgentOptions options{
      JobFolder(argv[2], argv[3]),       {}, {},  {}, {}, milliseconds(std::atoll(argv[5])),
      milliseconds(std::atoll(argv[6])), {}, true};
  const JobFolder folder = options.folder;
  auto chief_listener = base::ListenAt(folder.chief_socket());
  auto rank_listener = base::ListenAt(folder.rank_socket());
  options.sockets.first_chief = base::ConnectToThisUser(SocketIn(folder));
  options.starter = base::ConnectToThisUser(SocketIn(folder));
  if (!chief_listener.ok() || !rank_listener.ok() || !options.starter.valid()) {
    std::fprintf(stderr, "autodist-agent: nobody waits for an agent in %s\n",
                 folder.path().c_str());
    return kFailed;
  }
  options.sockets.chief_listener = *std::move(chief_listener);
  options.sockets.rank_listener = *std::move(rank_listener);
  return GuardApart(std::move(options));
}

}  // namespace autodist::agent
