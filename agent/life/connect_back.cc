#include "agent/life/connect_back.h"

#include <absl/strings/numbers.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/life/connecting.h"
#include "agent/life/keepers.h"
#include "agent/life/sealed_key.h"
#include "base/backoff.h"
#include "base/random.h"
#include "base/tcp_connect.h"
#include "process/process_tree.h"
#include "process/spawn.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/callback_lines.h"
#include "secure/pump.h"
#include "secure/session.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kKeyLimit{60'000};        // for the key on stdin
constexpr size_t kMaxKeyLine = 4096;             // also of a munge credential
constexpr milliseconds kHandshakeLimit{10'000};  // for the chief to prove that it knows the key
constexpr milliseconds kSendLimit{10'000};       // per line
constexpr milliseconds kLongTry{1'000};          // after one, the next is made at once
constexpr std::string_view kMunge = "--munge";
constexpr char kLeaving[] = "the scheduler ends the node's programs";

// Returns the path of this program, also if it is in memory or has been removed.
std::string ThisProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && std::filesystem::exists(path, error) ? path.string() : "/proc/self/exe";
}

// Returns the other end of a socket whose bytes go through the session, in a separate process: so
// ranks and connection survive if this process is killed alone.
Result<base::UniqueFd> PumpApart(std::unique_ptr<secure::Session> session) {
  AD_ASSIGN_OR_RETURN(base::FdPair sockets, base::StreamSocketPair());
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, "fork");
  if (child > 0) return std::move(sockets.second);
  sockets.second.Reset();
  prctl(PR_SET_NAME, "autodist-stream");
  // The scheduler waits for the end of the task's output.
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
  {
    secure::Pump pump(std::move(session), std::move(sockets.first));
    secure::PumpUntilOver(pump);
  }
  _exit(0);
}

class CallbackClient {
 public:
  CallbackClient(std::string node, milliseconds patience, std::vector<ChiefAddress> addresses,
                 secure::Key key)
      : identity_{std::move(node), base::RandomHex()},
        patience_(patience),
        addresses_(std::move(addresses)),
        key_(key) {}

  Status Prepare();
  int Run();

 private:
  enum class Woken { kReady, kDeadline, kSignal };
  // Waits until one of the descriptors is ready or a signal has been handled.
  Woken Await(std::vector<pollfd> polled, Deadline deadline);
  // Returns true when it is ready, never for -1; handles signals meanwhile.
  bool AwaitReady(int fd, short events, Deadline deadline);

  void HandleSignals();
  void TakeEnded();
  bool Leaves() const { return asked_to_end_ && !has_children_; }

  // Returns whether the chief sent a program.
  bool Talk(Deadline& until);
  std::unique_ptr<secure::Session> Dial();
  std::unique_ptr<secure::Session> Greet(base::UniqueFd socket);
  bool Serve(std::unique_ptr<secure::Session>& session);  // takes it for a program
  void Start(std::unique_ptr<secure::Session> session, const rpc::CallbackLine& order);
  bool Send(secure::Session& session, const std::string& line);

  struct Program {
    uint64_t id;
    base::UniqueFd errors;  // stderr in memory
  };

  const rpc::CallbackIdentity identity_;
  const milliseconds patience_;
  std::vector<ChiefAddress> addresses_;  // last used one first
  const secure::Key key_;
  base::UniqueFd signals_;
  std::map<pid_t, Program> programs_;
  std::deque<std::string> reports_;  // lines for the chief
  bool has_children_ = false;        // including adopted orphans
  bool asked_to_end_ = false;
  bool over_ = false;
};

Status CallbackClient::Prepare() {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoError(errno, "signalfd");
  process::AdoptOrphans();
  setenv(kCallbackVariable, "1", 1);
  return OkStatus();
}

int CallbackClient::Run() {
  Deadline until = Deadline::After(patience_);
  base::Backoff backoff;
  // After the order to end it no longer connects, because another process may have replaced it.
  while (!over_ && !asked_to_end_ && !until.Expired()) {
    const Deadline long_try = Deadline::After(kLongTry);
    if (Talk(until) || long_try.Expired()) {
      backoff = base::Backoff();  // a chief to which it was connected expects it at once
    } else if (!over_) {
      AwaitReady(-1, 0, std::min(until, Deadline::After(backoff.Next())));
    }
  }
  while (has_children_) Await({}, Deadline::Never());
  if (over_) return 0;
  if (asked_to_end_) return 128 + SIGTERM;
  std::fprintf(stderr, "autodist-agent: no chief at %s:%u, nor at any other address, for %lld s\n",
               addresses_[0].host.c_str(), addresses_[0].port,
               static_cast<long long>(patience_.count() / 1000));
  return 1;
}

CallbackClient::Woken CallbackClient::Await(std::vector<pollfd> polled, Deadline deadline) {
  polled.push_back({signals_.get(), POLLIN, 0});
  const int ready = poll(polled.data(), polled.size(), deadline.PollTimeout());
  if (ready > 0 && polled.back().revents != 0) {
    HandleSignals();
    return Woken::kSignal;
  }
  return ready == 0 ? Woken::kDeadline : ready > 0 ? Woken::kReady : Woken::kSignal;
}

bool CallbackClient::AwaitReady(int fd, short events, Deadline deadline) {
  while (!Leaves()) {
    const Woken woken = Await({{fd, events, 0}}, deadline);
    if (woken != Woken::kSignal) return woken == Woken::kReady;
  }
  return false;
}

void CallbackClient::HandleSignals() {
  signalfd_siginfo taken;
  while (read(signals_.get(), &taken, sizeof taken) == sizeof taken) {
    if (taken.ssi_signo != SIGTERM) continue;
    asked_to_end_ = true;
    for (const pid_t pid : process::Descendants(getpid())) {
      // Not to the agent, a child with the same name, which would report that the watchdog has
      // already signalled its ranks.
      process::Signal(pid, SIGTERM, [pid] {
        return IsNamedWatchdog(pid) && !IsNamedWatchdog(process::ParentOf(pid));
      });
    }
  }
  TakeEnded();
}

void CallbackClient::TakeEnded() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto program = programs_.find(pid);
    if (program == programs_.end()) continue;
    const int errors = program->second.errors.get();
    const off_t size = std::max<off_t>(lseek(errors, 0, SEEK_END), 0);
    std::string tail(std::min<size_t>(static_cast<size_t>(size), rpc::kMaxStderrLength), '\0');
    const ssize_t got =
        pread(errors, tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
    tail.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    reports_.push_back(rpc::CallbackLine{rpc::kCallbackEnded, program->second.id, {tail}}.ToLine());
    programs_.erase(program);
  }
  has_children_ = pid == 0;
}

// Of the servers that answer, the first that knows the key is the chief.
std::unique_ptr<secure::Session> CallbackClient::Dial() {
  Connecting connecting(addresses_);
  while (!connecting.over() && !Leaves()) {
    if (auto connected = connecting.Advance()) {
      auto session = Greet(std::move(connected->socket));
      if (!session) continue;
      std::swap(addresses_[connected->address], addresses_[0]);
      return session;
    }
    if (!connecting.over()) Await(connecting.Polled(), connecting.next());
  }
  return nullptr;
}

std::unique_ptr<secure::Session> CallbackClient::Greet(base::UniqueFd socket) {
  // The chief takes a regular end for that of all programs. They survive this process if it is
  // killed, unless it is process 1 of the PID namespace.
  if (getpid() != 1) base::ResetOnClose(socket.get());
  auto session = secure::Session::OfClient(std::move(socket), identity_.ToText(), key_);
  const Deadline deadline = Deadline::After(kHandshakeLimit);
  for (;;) {
    const secure::Progress progress = session->Handshake();
    if (progress == secure::Progress::kDone)
      return Send(*session, "") ? std::move(session) : nullptr;
    if (progress != secure::Progress::kWaits) return nullptr;
    const short sends = session->has_to_send() ? POLLOUT : 0;
    if (!AwaitReady(session->socket(), static_cast<short>(POLLIN | sends), deadline)) {
      return nullptr;
    }
  }
}

bool CallbackClient::Send(secure::Session& session, const std::string& line) {
  session.Write(line);
  const Deadline deadline = Deadline::After(kSendLimit);
  for (;;) {
    const secure::Progress progress = session.Flush();
    if (progress != secure::Progress::kWaits) return progress == secure::Progress::kDone;
    if (!AwaitReady(session.socket(), POLLOUT, deadline)) return false;
  }
}

bool CallbackClient::Talk(Deadline& until) {
  auto session = Dial();
  if (!session) return false;
  const bool served = Serve(session);
  if (session) base::ResetOnClose(session->socket(), !Leaves());
  if (session && Leaves()) {
    session->WriteEnd();
    (void)session->Flush();  // best effort
  }
  until = Deadline::After(patience_);
  return served;
}

bool CallbackClient::Serve(std::unique_ptr<secure::Session>& session) {
  std::string line;
  while (!Leaves()) {
    for (; !reports_.empty(); reports_.pop_front()) {
      if (!Send(*session, reports_.front())) return false;
    }
    const auto read = session->ReadLine(line, rpc::kMaxOrderLength);
    if (read == secure::Progress::kWaits) {
      Await({{session->socket(), POLLIN, 0}}, Deadline::Never());
      continue;
    }
    const auto order =
        read == secure::Progress::kDone ? rpc::CallbackLine::FromLine(line) : std::nullopt;
    if (order && order->kind == rpc::kCallbackOver) over_ = true;
    HandleSignals();
    if (order && order->kind == rpc::kCallbackRun && asked_to_end_) {
      // No other program: this connection must report the end of this process.
      reports_.push_back(rpc::CallbackLine{rpc::kCallbackEnded, order->id, {kLeaving}}.ToLine());
      line.clear();
      continue;
    }
    if (!order || order->kind != rpc::kCallbackRun || order->texts.empty()) return false;
    Start(std::move(session), *order);
    return true;
  }
  return false;
}

// A program that cannot be executed counts as ended, with the reason on stderr.
void CallbackClient::Start(std::unique_ptr<secure::Session> session,
                           const rpc::CallbackLine& order) {
  if (!Send(*session, rpc::CallbackLine{rpc::kCallbackStarted, order.id}.ToLine())) {
    return base::ResetOnClose(session->socket());
  }
  const auto failed = [&](const Status& status) {
    reports_.push_back(
        rpc::CallbackLine{rpc::kCallbackEnded, order.id, {Message(status)}}.ToLine());
  };
  base::ResetOnClose(session->socket(), false);
  const auto socket = PumpApart(std::move(session));
  if (!socket.ok()) return failed(socket.status());
  has_children_ = true;
  base::UniqueFd errors(memfd_create("stderr", MFD_CLOEXEC));
  process::SpawnRequest request = process::OurProgram(order.texts);
  if (order.texts[0] == rpc::kOwnProgram) request.argv[0] = ThisProgram();
  request.stdin_fd = request.stdout_fd = socket->get();
  request.stderr_fd = errors.get();
  request.dies_with_thread = false;
  const auto pid = process::Spawn(request);
  if (pid.ok()) {
    programs_[*pid] = {order.id, std::move(errors)};
    has_children_ = true;
  } else {
    failed(pid.status());
  }
}

int WrongCall() {
  std::fprintf(
      stderr,
      "usage: autodist-agent connect-back NODE SECONDS ADDRESS:PORT... [--munge[=SOCKET]], the "
      "key on stdin\n");
  return 2;
}

// `munge`: munged's socket, if the key is a credential.
Result<secure::Key> ReadKey(const std::string& node, const std::optional<std::string>& munge) {
  std::string line;
  const Deadline deadline = Deadline::After(kKeyLimit);
  while (line.size() < kMaxKeyLine && !line.ends_with('\n')) {
    char byte = 0;
    AD_ASSIGN_OR_RETURN(const size_t got, base::ReadSome(STDIN_FILENO, &byte, 1, deadline));
    if (got == 0) break;
    line += byte;
  }
  // The sender serves all tasks, and must not wait for this one to read.
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.valid()) dup2(null.get(), STDIN_FILENO);
  if (munge) {
    AD_ASSIGN_OR_RETURN(line, OpenSealedKey(line, *munge));
  }
  if (const auto key = secure::NodeKeyIn(line, node)) return *key;
  return Error(StatusCode::kInvalidArgument, "there is no key on stdin");
}

}  // namespace

int ConnectBack(int argc, char** argv) {
  constexpr int kFewest = 5;
  int64_t seconds = 0;
  if (argc < kFewest || !rpc::IsNodeName(argv[2]) || !absl::SimpleAtoi(argv[3], &seconds) ||
      seconds < 0) {
    return WrongCall();
  }
  std::vector<ChiefAddress> addresses;
  std::optional<std::string> munge;
  for (int i = kFewest - 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == kMunge) {
      munge = "";
      continue;
    }
    if (word.starts_with(std::string(kMunge) + "=")) {
      munge = word.substr(kMunge.size() + 1);
      continue;
    }
    const auto address = ChiefAddress::Parse(argv[i]);
    if (!address) return WrongCall();
    addresses.push_back(*address);
  }
  const auto key = ReadKey(argv[2], munge);
  Status ready = key.status();
  if (key.ok()) {
    CallbackClient caller(argv[2], std::chrono::seconds(seconds), WithoutOurs(std::move(addresses)),
                          *key);
    ready = caller.Prepare();
    if (ready.ok()) return caller.Run();
  }
  std::fprintf(stderr, "autodist-agent: %s\n", Message(ready).c_str());
  const std::string remedy = Remedy(ready);
  if (!remedy.empty()) std::fprintf(stderr, "%s%s\n", rpc::kRemedyMark, remedy.c_str());
  return 1;
}

}  // namespace autodist::agent
