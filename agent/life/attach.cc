#include "agent/life/attach.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "agent/life/guardian.h"
#include "base/unix_socket.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr int kBacklog = 64;

struct Request {
  JobFolder folder;
  std::string nonce;
  milliseconds lease;
  milliseconds grace;
  bool start;  // an agent where there is none
};

// An invalid descriptor where no agent of ours listens: /tmp is everybody's.
base::UniqueFd Connect(const JobFolder& folder) {
  if (!folder.IsOurs()) return {};
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = base::UnixAddress(folder.chief_socket());
  if (fd.valid() &&
      (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
       !base::PeerIsThisUser(fd.get()))) {
    fd.Reset();
  }
  return fd;
}

// Until nothing of the job is left in the folder's care.
void AwaitNoGuardian(const JobFolder& folder) {
  if (!folder.IsOurs()) return;
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDWR | O_CLOEXEC));
  if (lock.valid()) Await(lock.get(), Life::kGuardian);
}

bool HasGuardian(const JobFolder& folder) {
  const base::UniqueFd lock(open(folder.lock().c_str(), O_RDWR | O_CLOEXEC));
  return lock.valid() && HolderOf(lock.get(), Life::kGuardian).has_value();
}

Result<base::UniqueFd> Listen(const std::string& path) {
  unlink(path.c_str());
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = base::UnixAddress(path);
  const mode_t mask = umask(0177);
  const bool bound =
      fd.valid() &&
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      listen(fd.get(), kBacklog) == 0;
  const int error = errno;
  umask(mask);
  if (!bound) return ErrnoError(error, "listening on " + path);
  return fd;
}

// Runs guardian and agent in processes that belong to no terminal and no login, and outlive this
// one.
Result<pid_t> Detach(AgentOptions options, const base::UniqueFd& our_end) {
  AD_ASSIGN_OR_RETURN(base::FdPair starter, base::Pipe());
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, "fork");
  if (child > 0) {
    (void)starter.second.Release();  // closed by our end, which is what it tells
    return child;
  }
  starter.second.Reset();
  close(our_end.get());
  options.starter = std::move(starter.first);
  setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log =
      open(options.folder.log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(log >= 0 ? log : null, STDERR_FILENO);
  (void)!chdir("/");
  _exit(Guard(std::move(options)));
}

struct Connection {
  base::UniqueFd socket;  // invalid: there is no agent
  pid_t guardian = 0;     // if it is our child
};

Result<Connection> StartAgent(const Request& request, base::UniqueFd folder) {
  AgentOptions options{request.folder, std::move(folder), {}, {}, {}, request.lease, request.grace};
  AD_ASSIGN_OR_RETURN(options.sockets.chief_listener, Listen(request.folder.chief_socket()));
  AD_ASSIGN_OR_RETURN(options.sockets.rank_listener, Listen(request.folder.rank_socket()));
  AD_ASSIGN_OR_RETURN(base::FdPair first, base::StreamSocketPair());
  options.sockets.first_chief = std::move(first.first);
  Connection connection{std::move(first.second)};
  AD_ASSIGN_OR_RETURN(connection.guardian, Detach(std::move(options), connection.socket));
  return connection;
}

Result<Connection> StartOrConnect(const Request& request) {
  if (!request.start) return Connection{Connect(request.folder)};
  for (;;) {
    AD_ASSIGN_OR_RETURN(base::UniqueFd folder, request.folder.Lock());
    Connection connection{Connect(request.folder)};
    if (connection.socket.valid()) return connection;
    if (!HasGuardian(request.folder)) return StartAgent(request, std::move(folder));
    // An agent of before is gone, and its guardian still at work.
    folder.Reset();
    AwaitNoGuardian(request.folder);
  }
}

// One direction of the pump: what was read and is not yet written.
struct Flow {
  int from;
  int to;
  bool to_is_socket;
  std::array<char, 65536> buffer;
  size_t begin = 0;
  size_t end = 0;
  bool ended = false;
  bool read_all = false;  // `from` has ended
  bool moved = false;     // anything

  void Read() {
    const ssize_t got = read(from, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    begin = 0;
    end = static_cast<size_t>(std::max<ssize_t>(got, 0));
    ended = read_all = got <= 0;
    if (ended && to_is_socket) shutdown(to, SHUT_WR);
  }
  void Write() {
    const ssize_t put = write(to, buffer.data() + begin, end - begin);
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (put < 0) {
      ended = true;
      begin = end = 0;
    } else {
      begin += static_cast<size_t>(put);
      moved = true;
    }
  }
  bool full() const { return begin < end; }
};

// Until the agent closes. When the chief goes first, the agent learns it and may go on. Returns
// whether the agent was first.
bool Pump(int socket) {
  Flow up{STDIN_FILENO, socket, true, {}};
  Flow down{socket, STDOUT_FILENO, false, {}};
  while (!down.ended) {
    std::array<pollfd, 4> fds{};
    size_t count = 0;
    for (Flow* flow : {&up, &down}) {
      if (flow->ended) continue;
      fds[count++] = flow->full() ? pollfd{flow->to, POLLOUT, 0} : pollfd{flow->from, POLLIN, 0};
    }
    if (poll(fds.data(), count, -1) < 0 && errno != EINTR) return false;
    size_t entry = 0;
    for (Flow* flow : {&up, &down}) {
      if (flow->ended) continue;
      if (fds[entry++].revents == 0) continue;
      if (flow->full()) {
        flow->Write();
      } else {
        flow->Read();
      }
    }
  }
  // A stdout that takes no more means that the chief is gone; an agent that has said nothing has
  // turned the greeting away.
  return down.read_all && !up.read_all && down.moved;
}

bool IsPlainWord(const char* word) {
  const std::string_view text = word;
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

// Until nothing of the job is left here: so that to the chief the end of our output means that.
void AwaitGuardian(const Connection& connection, const JobFolder& folder) {
  if (connection.guardian > 0) waitpid(connection.guardian, nullptr, 0);
  // It may be another's child; and if it was killed, the agent has taken its place.
  AwaitNoGuardian(folder);
}

int Refuse() {
  std::fprintf(stderr,
               "usage: autodist-agent attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS start|resume\n");
  return 2;
}

}  // namespace

int Attach(int argc, char** argv) {
  constexpr int kArguments = 8;
  if (argc != kArguments || !std::all_of(argv + 2, argv + argc, IsPlainWord)) return Refuse();
  const Request request{JobFolder(argv[2], argv[3]), argv[4], milliseconds(std::atoll(argv[5])),
                        milliseconds(std::atoll(argv[6])), std::string_view(argv[7]) == "start"};
  signal(SIGPIPE, SIG_IGN);  // the agent may close before it has read all
  const Result<Connection> connection = StartOrConnect(request);
  if (!connection.ok()) {
    std::fprintf(stderr, "autodist-agent: %s\n", Message(connection.status()).c_str());
    return 1;
  }
  const bool there = connection->socket.valid();
  if (!there) AwaitGuardian(*connection, request.folder);  // whose last word is the verdict
  const std::string line = there
                               ? rpc::ReadyLine(request.nonce)
                               : rpc::GoneLine(request.nonce) + request.folder.ReadVerdict() + "\n";
  if (!base::WriteAll(STDOUT_FILENO, line, base::Deadline::Never()).ok()) return 1;
  if (there && Pump(connection->socket.get())) AwaitGuardian(*connection, request.folder);
  return 0;
}

}  // namespace autodist::agent
