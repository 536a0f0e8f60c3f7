#include "ssh/private_ssh_agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "base/deadline.h"
#include "process/environment.h"
#include "process/spawn.h"
#include "ssh/ssh_agent.h"

namespace autodist::ssh {
namespace {

using base::Deadline;

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::seconds kAnswerLimit{300};  // for the user
constexpr size_t kMaxSaid = 4096;

// ssh-agent runs this and exits within ten seconds after it. It prints the path of the socket, and
// waits until this process has ended.
constexpr char kUntilWeEnd[] = "echo \"$SSH_AUTH_SOCK\"; read -r nothing; kill \"$SSH_AGENT_PID\"";

process::SpawnRequest Command(std::vector<std::string> argv, const std::string& agent = "") {
  auto environment = process::Environment::FromStrings(environ);
  environment.Set("SSH_AUTH_SOCK", agent);
  return process::OurProgram(std::move(argv), environment);
}

Status CannotStart(const Status& cause, const std::string& said) {
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, Message(cause) + (said.empty() ? "" : ": " + said)),
      "install OpenSSH's client and check that `ssh-agent true` succeeds, or use a key without a "
      "passphrase");
}

// Opens the terminal for ssh-add; not in the background, where asking would stop this process.
base::UniqueFd Terminal() {
  base::UniqueFd terminal(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal.valid() && tcgetpgrp(terminal.get()) != getpgrp()) terminal.Reset();
  return terminal;
}

// Ignores Ctrl-C while ssh-add asks at the terminal, so that it can restore the terminal first.
class InterruptsIgnored {
 public:
  InterruptsIgnored() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  InterruptsIgnored(const InterruptsIgnored&) = delete;
  InterruptsIgnored& operator=(const InterruptsIgnored&) = delete;
  ~InterruptsIgnored() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }

 private:
  struct sigaction interrupt_ {};
  struct sigaction quit_ {};
};

std::string TextIn(int fd) {
  std::string text(kMaxSaid, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(size < 0 ? 0 : size));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Result<PrivateSshAgent> PrivateSshAgent::Start() {
  const base::UniqueFd said(memfd_create("ssh-agent", MFD_CLOEXEC));
  auto agent = Launch(said.get());
  return agent.ok() ? std::move(agent) : CannotStart(agent.status(), TextIn(said.get()));
}

Result<PrivateSshAgent> PrivateSshAgent::Launch(int stderr_fd) {
  AD_ASSIGN_OR_RETURN(base::FdPair life, base::Pipe());
  AD_ASSIGN_OR_RETURN(base::FdPair output, base::Pipe());
  process::SpawnRequest request = Command({"ssh-agent", "sh", "-c", kUntilWeEnd});
  request.stdin_fd = life.first.get();
  request.stdout_fd = output.second.get();
  request.stderr_fd = stderr_fd;
  request.dies_with_thread = false;
  AD_RETURN_IF_ERROR(process::Spawn(request).status());
  output.second.Reset();
  std::string socket;
  const Deadline deadline = Deadline::After(kStartLimit);
  for (char byte = 0; byte != '\n';) {
    const auto got = base::ReadSome(output.first.get(), &byte, 1, deadline);
    if (!got.ok()) return Annotate(got.status(), "ssh-agent does not start");
    if (*got == 0) return Error(StatusCode::kUnavailable, "ssh-agent does not start");
    if (byte != '\n') socket += byte;
  }
  // When it answers, it has set up the removal of the socket on exit.
  AD_RETURN_IF_ERROR(SshAgent(socket).Keys().status());
  return PrivateSshAgent(std::move(life.second), socket);
}

Status PrivateSshAgent::Add(const std::string& key_file) const {
  const base::UniqueFd terminal = Terminal();
  const base::UniqueFd said(memfd_create("ssh-add", MFD_CLOEXEC));
  process::SpawnRequest request = Command({"ssh-add", "--", key_file}, socket_);
  request.stdin_fd = terminal.get();
  request.stdout_fd = request.stderr_fd = said.get();
  request.own_process_group = false;        // may use the terminal
  request.own_session = !terminal.valid();  // cannot open a terminal, which would stop us
  int ended = 0;
  {
    std::optional<InterruptsIgnored> ignored;
    if (terminal.valid()) ignored.emplace();
    const auto pid = process::Spawn(request);
    if (!pid.ok()) return CannotStart(pid.status(), "");
    const auto end = process::EndOf(*pid);
    if (!end.ok() || !base::WaitReadable(end->get(), Deadline::After(kAnswerLimit)).ok()) {
      kill(*pid, SIGTERM);  // it restores the terminal
    }
    ended = process::Reap(*pid);
  }
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return OkStatus();
  const int signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
  if (terminal.valid() && (signal == SIGINT || signal == SIGQUIT)) kill(getpid(), signal);
  const std::string why = TextIn(said.get());
  if (why.find("Error loading key") != std::string::npos) {
    return WithRemedy(Error(StatusCode::kFailedPrecondition, "OpenSSH cannot read it: " + why),
                      "make a new copy of it in OpenSSH's format (ssh-keygen -p -f " + key_file +
                          "), or a new key");
  }
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            "no correct passphrase was given" + (why.empty() ? "" : ": " + why)),
      "run ssh-add " + key_file + " first, or start autodist in the foreground of a terminal");
}

}  // namespace autodist::ssh
