#include "attach.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "process/process_tree.h"
#include "rpc/bootstrap_lines.h"
#include "serve.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr int kBacklog = 64;

std::string FolderOf(const AgentIdentity& identity) {
  return "/tmp/autodist-" + std::to_string(geteuid()) + "/" + identity.job_id + "." +
         identity.node_rank;
}

// A folder that only we can enter. /tmp is everybody's: somebody else's folder, or a link, that
// already has the name is refused.
Status MakePrivateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoError(errno, "making the folder " + path);
  }
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return ErrnoError(errno, path);
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return WithRemedy(Error(StatusCode::kPermissionDenied,
                            path + " exists but is not a private folder of this user"),
                      "remove it");
  }
  return OkStatus();
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

// An invalid descriptor where no agent listens.
base::UniqueFd Connect(const std::string& path) {
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
  if (fd.valid() &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd.Reset();
  }
  return fd;
}

Result<base::UniqueFd> Listen(const std::string& path) {
  unlink(path.c_str());
  base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = AddressOf(path);
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

// Runs the agent in a process that belongs to no terminal and no login, and outlives this one.
Result<pid_t> Detach(base::UniqueFd listener, const std::string& folder,
                     const AgentIdentity& identity) {
  AD_ASSIGN_OR_RETURN(base::FdPair starter, base::Pipe());
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, "fork");
  if (child > 0) {
    (void)starter.second.Release();  // closed by our end, which is what it tells
    return child;
  }
  starter.second.Reset();
  setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  const int log =
      open((folder + "/" + kLogName).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(log >= 0 ? log : null, STDERR_FILENO);
  (void)!chdir("/");
  _exit(Serve({std::move(listener), std::move(starter.first), folder, identity}));
}

struct Connection {
  base::UniqueFd socket;
  pid_t agent = 0;  // if it is our child
};

Result<Connection> StartOrConnect(const AgentIdentity& identity) {
  const std::string folder = FolderOf(identity);
  const std::string parent = folder.substr(0, folder.rfind('/'));
  AD_RETURN_IF_ERROR(MakePrivateFolder(parent));
  if (!MakePrivateFolder(folder).ok()) {
    AD_RETURN_IF_ERROR(MakePrivateFolder(parent));  // another job's end may have removed it
    AD_RETURN_IF_ERROR(MakePrivateFolder(folder));
  }
  const base::UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() || flock(lock.get(), LOCK_EX) != 0) {
    return ErrnoError(errno, "locking " + folder);
  }
  const std::string path = folder + "/" + kSocketName;
  Connection connection{Connect(path)};
  if (connection.socket.valid()) return connection;
  AD_ASSIGN_OR_RETURN(base::UniqueFd listener, Listen(path));
  // It listens from here on, so there is nothing to wait for.
  AD_ASSIGN_OR_RETURN(connection.agent, Detach(std::move(listener), folder, identity));
  flock(lock.get(), LOCK_UN);  // the agent has inherited the lock
  connection.socket = Connect(path);
  if (!connection.socket.valid()) return ErrnoError(errno, "connecting to " + path);
  return connection;
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
  return down.read_all && !up.read_all;  // a stdout that takes no more means that the chief is gone
}

bool IsPlainWord(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

}  // namespace

int Attach(int argc, char** argv) {
  constexpr int kArguments = 7;
  for (int i = 2; i < argc; ++i) {
    if (argc != kArguments || !IsPlainWord(argv[i])) argc = 0;
  }
  if (argc != kArguments) {
    std::fprintf(stderr, "usage: autodist-agent attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS\n");
    return 2;
  }
  const AgentIdentity identity{argv[2], argv[3], milliseconds(std::atoll(argv[5])),
                               milliseconds(std::atoll(argv[6]))};
  signal(SIGPIPE, SIG_IGN);  // the agent may close before it has read all
  process::AdoptOrphans();
  const Result<Connection> connection = StartOrConnect(identity);
  if (!connection.ok()) {
    std::fprintf(stderr, "autodist-agent: %s\n", Message(connection.status()).c_str());
    return 1;
  }
  const std::string ready = rpc::ReadyLine(argv[4]);
  if (!base::WriteAll(STDOUT_FILENO, ready, base::Deadline::Never()).ok()) return 1;
  const bool agent_ended = Pump(connection->socket.get());
  if (!agent_ended || connection->agent == 0) return 0;
  // So that to the chief the end of our output means that nothing is left here.
  int status = 0;
  waitpid(connection->agent, &status, 0);
  if (WIFSIGNALED(status)) {
    // The kernel has killed its children; what they had started has come to us.
    do {
      for (const pid_t pid : process::Descendants(getpid())) kill(pid, SIGKILL);
    } while (waitpid(-1, nullptr, 0) > 0);
    RemoveAgentFolder(FolderOf(identity));
  }
  return 0;
}

}  // namespace autodist::agent
