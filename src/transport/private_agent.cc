#include "transport/private_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/deadline.h"
#include "process/environment.h"
#include "process/spawn.h"
#include "transport/ssh_agent.h"

namespace autodist::transport {
namespace {

using base::Deadline;

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::seconds kAnswerLimit{300};  // the person's
constexpr size_t kMostSaid = 4096;

// ssh-agent runs this and ends after it, in ten seconds at the latest. It tells us the socket, and
// waits until we are gone.
constexpr char kUntilWeEnd[] = "echo \"$SSH_AUTH_SOCK\"; read -r nothing; kill \"$SSH_AGENT_PID\"";

process::SpawnRequest Command(std::vector<std::string> argv, const std::string& agent = "") {
  auto environment = process::Environment::FromStrings(environ);
  environment.Set("SSH_AUTH_SOCK", agent);
  process::SpawnRequest request;
  request.argv = std::move(argv);
  request.environment = environment.ToStrings();
  request.working_directory = ".";
  request.dies_with_thread = false;
  return request;
}

Result<pid_t> Start(const process::SpawnRequest& request) {
  auto pid = process::Spawn(request);
  if (pid.status().code() != StatusCode::kNotFound) return pid;
  return WithRemedy(pid.status(),
                    "install OpenSSH's client (openssh-client or openssh-clients), which asks for "
                    "the passphrase, or use a key without one");
}

// The terminal that ssh-add may ask on; in the background, asking would stop us.
base::UniqueFd Terminal() {
  base::UniqueFd terminal(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal.valid() && tcgetpgrp(terminal.get()) != getpgrp()) terminal.Reset();
  return terminal;
}

bool Succeeds(pid_t pid, Deadline deadline) {
  const base::UniqueFd end(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd entry{end.get(), POLLIN, 0};
  while (poll(&entry, 1, deadline.PollTimeout()) < 0 && errno == EINTR) {
  }
  if (entry.revents == 0) kill(pid, SIGTERM);  // on which it leaves the terminal as it was
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string TextIn(int fd) {
  std::string text(kMostSaid, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(size < 0 ? 0 : size));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Result<PrivateAgent> PrivateAgent::Start() {
  AD_ASSIGN_OR_RETURN(base::FdPair life, base::Pipe());
  AD_ASSIGN_OR_RETURN(base::FdPair output, base::Pipe());
  process::SpawnRequest request = Command({"ssh-agent", "sh", "-c", kUntilWeEnd});
  request.stdin_fd = life.first.get();
  request.stdout_fd = output.second.get();
  AD_RETURN_IF_ERROR(transport::Start(request).status());
  output.second.Reset();
  std::string socket;
  const Deadline deadline = Deadline::After(kStartLimit);
  for (char byte = 0; byte != '\n';) {
    AD_ASSIGN_OR_RETURN(const size_t got, base::ReadSome(output.first.get(), &byte, 1, deadline));
    if (got == 0) return Error(StatusCode::kUnavailable, "ssh-agent does not start");
    if (byte != '\n') socket += byte;
  }
  // Once it answers it is ready to remove its socket when it is ended.
  AD_RETURN_IF_ERROR(SshAgent(socket).Keys().status());
  return PrivateAgent(std::move(life.second), socket);
}

Status PrivateAgent::Add(const std::string& key_file) const {
  const base::UniqueFd terminal = Terminal();
  const base::UniqueFd said(memfd_create("ssh-add", MFD_CLOEXEC));
  process::SpawnRequest request = Command({"ssh-add", "-q", "--", key_file}, socket_);
  request.stdin_fd = terminal.get();
  request.stdout_fd = request.stderr_fd = said.get();
  request.own_process_group = false;  // so that it may use the terminal
  AD_ASSIGN_OR_RETURN(const pid_t pid, transport::Start(request));
  if (Succeeds(pid, Deadline::After(kAnswerLimit))) return OkStatus();
  const std::string why = TextIn(said.get());
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            "no passphrase was given that fits" + (why.empty() ? "" : ": " + why)),
      "run ssh-add " + key_file + " first, or start from a terminal, where you are asked for it");
}

}  // namespace autodist::transport
