#include "ssh/ssh_agent.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/deadline.h"
#include "base/quantity.h"
#include "base/unix_socket.h"
#include "process/environment.h"
#include "process/spawn.h"
#include "ssh/ssh_wire.h"

namespace autodist::ssh {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kListLimit{10'000};
constexpr size_t kLargestAnswer = 256 * 1024;

enum MessageType : unsigned char {
  kRequestIdentities = 11,
  kIdentitiesAnswer = 12,
  kSignRequest = 13,
  kSignResponse = 14,
};

Result<base::UniqueFd> Connect(const std::string& path, Deadline deadline) {
  const sockaddr_un address = base::UnixAddress(path);
  if (address.sun_path != path) {
    return Error(StatusCode::kInvalidArgument, "the path is too long for a socket");
  }
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoError(errno, "socket");
  // The send timeout limits connect() to an agent with a full backlog; poll() cannot.
  const int left = deadline.PollTimeout();
  const timeval limit{left / 1000, left % 1000 * 1000};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoError(errno == EAGAIN ? ETIMEDOUT : errno, "connect");
  }
  return fd;
}

Result<std::string> ReceiveFromAgent(int fd, size_t size, Deadline deadline) {
  std::string bytes(size, '\0');
  for (size_t have = 0; have < size;) {
    AD_ASSIGN_OR_RETURN(const size_t got,
                        base::ReadSome(fd, bytes.data() + have, size - have, deadline));
    if (got == 0) return Error(StatusCode::kUnavailable, "it closed the connection");
    have += got;
  }
  return bytes;
}

// Sends one message and returns the body of the response, which must be of type `wanted`.
Result<std::string> Exchange(const std::string& socket, const std::string& request,
                             MessageType wanted, Deadline deadline, const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, Connect(socket, deadline));
  const std::stop_callback hang_up(stop, [&fd] { shutdown(fd.get(), SHUT_RDWR); });
  std::string framed;
  AppendString(framed, request);
  AD_RETURN_IF_ERROR(base::WriteAll(fd.get(), framed, deadline));
  AD_ASSIGN_OR_RETURN(const std::string size_bytes,
                      ReceiveFromAgent(fd.get(), sizeof(uint32_t), deadline));
  const uint32_t size = WireReader(size_bytes).Number();
  if (size == 0 || size > kLargestAnswer) {
    return Error(StatusCode::kUnavailable, "it does not speak the agent's protocol");
  }
  AD_ASSIGN_OR_RETURN(const std::string type, ReceiveFromAgent(fd.get(), 1, deadline));
  if (type != std::string(1, static_cast<char>(wanted)))
    return Error(StatusCode::kPermissionDenied, "it refused");
  return ReceiveFromAgent(fd.get(), size - 1, deadline);
}

Result<std::string> Ask(const std::string& socket, const std::string& request, MessageType wanted,
                        milliseconds limit, const std::stop_token& stop) {
  auto answer = Exchange(socket, request, wanted, Deadline::After(limit), stop);
  if (answer.status().code() != StatusCode::kDeadlineExceeded) return answer;
  return Error(StatusCode::kDeadlineExceeded, "no answer within " + base::Seconds(limit));
}

Status Malformed() { return Error(StatusCode::kUnavailable, "it gave a malformed answer"); }

uint32_t FlagsFor(std::string_view algorithm) {
  constexpr uint32_t kRsaSha256 = 2;
  constexpr uint32_t kRsaSha512 = 4;
  if (algorithm == "rsa-sha2-256") return kRsaSha256;
  return algorithm == "rsa-sha2-512" ? kRsaSha512 : 0;
}

std::string Where(const std::string& socket) { return "ssh-agent at " + socket; }

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

Result<std::vector<AgentKey>> SshAgent::Keys() const {
  const auto answer =
      Ask(socket_, std::string(1, kRequestIdentities), kIdentitiesAnswer, kListLimit, {});
  if (!answer.ok()) {
    return WithRemedy(
        Annotate(answer.status(), Where(socket_)),
        "start an ssh-agent, and give its socket with SSH_AUTH_SOCK, or with IdentityAgent "
        "in ~/.ssh/config");
  }
  WireReader reader(*answer);
  const uint32_t count = reader.Number();
  std::vector<AgentKey> keys;
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    AgentKey key;
    key.blob = reader.String();
    key.comment = reader.String();
    keys.push_back(std::move(key));
  }
  if (!reader.ok()) return Annotate(Malformed(), Where(socket_));
  return keys;
}

Result<std::string> SshAgent::Sign(std::string_view blob, std::string_view algorithm,
                                   std::string_view data, const std::stop_token& stop) const {
  std::string request(1, kSignRequest);
  AppendString(request, blob);
  AppendString(request, data);
  AppendNumber(request, FlagsFor(algorithm));
  const auto answer = Ask(socket_, request, kSignResponse, sign_limit_, stop);
  if (!answer.ok()) {
    const bool refused = answer.status().code() == StatusCode::kPermissionDenied;
    return WithRemedy(
        Annotate(answer.status(), Where(socket_) + ", asked to sign"),
        refused ? "unlock it (ssh-add -X), or confirm its question" : "check `ssh-add -l`");
  }
  WireReader outer(*answer);
  WireReader signature(outer.String());
  const std::string_view used = signature.String();
  const std::string_view proper = signature.String();
  if (!outer.ok() || !signature.ok()) return Annotate(Malformed(), Where(socket_));
  if (used != algorithm) {
    return WithRemedy(Error(StatusCode::kUnimplemented,
                            Where(socket_) + " does not sign with " + std::string(algorithm)),
                      "use a newer agent, or another kind of key");
  }
  return std::string(proper);
}

Result<std::string> AgentIdentity::SignRequest(std::string_view request,
                                               const std::stop_token& stop) const {
  AD_ASSIGN_OR_RETURN(const std::string algorithm, SignatureAlgorithm(request));
  return agent_.Sign(blob_, algorithm, request, stop);
}

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
  // ssh-add asks here only if it has neither a terminal nor SSH_ASKPASS.
  const bool cannot_ask = why.find("Enter passphrase for ") != std::string::npos;
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            cannot_ask ? "there is no terminal to ask for the passphrase"
                       : "no correct passphrase was given" + (why.empty() ? "" : ": " + why)),
      "run ssh-add " + key_file + " first, or start autodist in the foreground of a terminal");
}

}  // namespace autodist::ssh
