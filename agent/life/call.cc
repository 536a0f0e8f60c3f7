#include "agent/life/call.h"

#include <absl/strings/numbers.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/tcp_connect.h"
#include "process/process_tree.h"
#include "process/spawn.h"
#include "rpc/call_lines.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kWordsLimit{60'000};   // until they have come on stdin
constexpr milliseconds kConnectLimit{5'000};  // with one address
constexpr milliseconds kAnswerLimit{10'000};  // for the chief's answer
constexpr milliseconds kSendLimit{10'000};    // for a line
constexpr char kGuardian[] = "autodist-guard";

struct Address {
  std::string host;
  uint16_t port;
};

// "10.0.0.1:4711", "[fe80::1%eth0]:4711", "pod-0.service:4711".
std::optional<Address> AddressIn(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == text.npos || colon == 0 || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port == 0 || port > 65'535) {
    return std::nullopt;
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return Address{std::move(host), static_cast<uint16_t>(port)};
}

// Blocks as long as the system's resolver does.
std::vector<base::IpAddress> Resolve(const std::string& host) {
  if (const auto numeric = base::IpAddress::Parse(host)) return {*numeric};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
  std::vector<base::IpAddress> found;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (const auto address = base::IpAddress::Parse(text.data())) found.push_back(*address);
  }
  freeaddrinfo(list);
  return found;
}

// Addresses that many machines have, of a bridge for containers say, lead to ourselves here.
std::vector<Address> WithoutOurs(std::vector<Address> addresses) {
  const auto interfaces = base::LocalInterfaces();
  const auto is_ours = [&](const Address& address) {
    const auto numeric = base::IpAddress::Parse(address.host);
    return numeric && interfaces.ok() && base::OwnerOf(*numeric, *interfaces);
  };
  if (!std::ranges::all_of(addresses, is_ours)) std::erase_if(addresses, is_ours);
  return addresses;
}

bool IsNamedGuardian(pid_t pid) {
  const auto name = base::ReadFile("/proc/" + std::to_string(pid) + "/comm", 64);
  return name.ok() && *name == std::string(kGuardian) + "\n";
}

// Where this program is; one that is in memory, or has been removed, is there all the same.
std::string ThisProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return !error && std::filesystem::exists(path, error) ? path.string() : "/proc/self/exe";
}

class Caller {
 public:
  Caller(std::string node, milliseconds patience, std::vector<Address> addresses,
         rpc::CallWords words)
      : node_(std::move(node)),
        patience_(patience),
        addresses_(std::move(addresses)),
        words_(std::move(words)) {}

  Status Prepare();
  int Run();

 private:
  enum class Woken { kReady, kDeadline, kSignal };
  // Until the descriptor, -1 for none, is ready or a signal has been heeded.
  Woken Await(int fd, short events, Deadline deadline);
  // True once it is ready; heeds signals meanwhile.
  bool AwaitReady(int fd, short events, Deadline deadline);

  void HeedSignals();
  void TakeEnded();
  bool Leaves() const { return told_to_end_ && !has_children_; }

  // Whether the chief had something for us.
  bool Talk(Deadline& until);
  base::UniqueFd Dial();
  base::UniqueFd Dial(const base::IpAddress& address, uint16_t port);
  bool Greet(int socket);
  bool Serve(base::UniqueFd socket);
  void Start(base::UniqueFd socket, const rpc::CallLine& order);
  bool Send(int socket, const std::string& line) {
    return base::WriteAll(socket, line, Deadline::After(kSendLimit)).ok();
  }

  struct Program {
    uint64_t id;
    base::UniqueFd errors;  // its stderr, in memory
  };

  const std::string node_;
  const milliseconds patience_;
  std::vector<Address> addresses_;  // the one that was the chief's first
  const rpc::CallWords words_;
  base::UniqueFd signals_;
  std::map<pid_t, Program> programs_;
  std::deque<std::string> reports_;  // lines that the chief is to be told
  bool has_children_ = false;        // orphans that we have adopted, too
  bool told_to_end_ = false;
  bool over_ = false;
};

Status Caller::Prepare() {
  for (const int signal : {SIGHUP, SIGINT, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return ErrnoError(errno, "signalfd");
  process::AdoptOrphans();
  setenv(kCalledVariable, "1", 1);
  return OkStatus();
}

int Caller::Run() {
  Deadline until = Deadline::After(patience_);
  base::Backoff backoff;
  // Once told to end it calls no more: another one may have its place.
  while (!over_ && !told_to_end_ && !until.Expired()) {
    if (Talk(until)) {
      backoff = base::Backoff();
    } else if (!over_) {
      AwaitReady(-1, 0, std::min(until, Deadline::After(backoff.Next())));
    }
  }
  while (has_children_) Await(-1, 0, Deadline::Never());
  if (over_) return 0;
  if (told_to_end_) return 128 + SIGTERM;
  std::fprintf(stderr, "autodist-agent: no chief at %s:%u, nor at any other address, for %lld s\n",
               addresses_[0].host.c_str(), addresses_[0].port,
               static_cast<long long>(patience_.count() / 1000));
  return 1;
}

Caller::Woken Caller::Await(int fd, short events, Deadline deadline) {
  pollfd polled[] = {{signals_.get(), POLLIN, 0}, {fd, events, 0}};
  const int ready = poll(polled, fd >= 0 ? 2 : 1, deadline.PollTimeout());
  if (ready > 0 && polled[0].revents != 0) {
    HeedSignals();
    return Woken::kSignal;
  }
  return ready == 0 ? Woken::kDeadline : ready > 0 ? Woken::kReady : Woken::kSignal;
}

bool Caller::AwaitReady(int fd, short events, Deadline deadline) {
  while (!Leaves()) {
    const Woken woken = Await(fd, events, deadline);
    if (woken != Woken::kSignal) return woken == Woken::kReady;
  }
  return false;
}

void Caller::HeedSignals() {
  signalfd_siginfo taken;
  while (read(signals_.get(), &taken, sizeof taken) == sizeof taken) {
    if (taken.ssi_signo != SIGTERM) continue;
    told_to_end_ = true;
    for (const pid_t pid : process::Descendants(getpid())) {
      // Not the agent, its child, which has the same name: who else tells it than the guardian has
      // told its ranks.
      if (IsNamedGuardian(pid) && !IsNamedGuardian(process::ParentOf(pid))) kill(pid, SIGTERM);
    }
  }
  TakeEnded();
}

void Caller::TakeEnded() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto program = programs_.find(pid);
    if (program == programs_.end()) continue;
    const int errors = program->second.errors.get();
    const off_t size = std::max<off_t>(lseek(errors, 0, SEEK_END), 0);
    std::string tail(std::min<size_t>(static_cast<size_t>(size), rpc::kLongestStderr), '\0');
    const ssize_t got =
        pread(errors, tail.data(), tail.size(), size - static_cast<off_t>(tail.size()));
    tail.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    reports_.push_back(rpc::CallLine{rpc::kCallEnded, program->second.id, {tail}}.ToLine());
    programs_.erase(program);
  }
  has_children_ = pid == 0;
}

base::UniqueFd Caller::Dial(const base::IpAddress& address, uint16_t port) {
  auto connecting = base::StartConnecting(address, port);
  if (std::holds_alternative<int>(connecting)) return {};
  base::UniqueFd socket = std::get<base::UniqueFd>(std::move(connecting));
  const bool ready = AwaitReady(socket.get(), POLLOUT, Deadline::After(kConnectLimit));
  if (!ready || base::ConnectResult(socket.get()) != 0 || !Greet(socket.get())) return {};
  return socket;
}

base::UniqueFd Caller::Dial() {
  for (Address& address : addresses_) {
    for (const base::IpAddress& ip : Resolve(address.host)) {
      base::UniqueFd socket = Dial(ip, address.port);
      if (!socket.valid()) continue;
      std::swap(address, addresses_[0]);
      return socket;
    }
  }
  return {};
}

// Nobody learns from us what to do who does not know the chief's word.
bool Caller::Greet(int socket) {
  if (!Send(socket, rpc::CallerGreeting(words_, node_))) return false;
  const Deadline deadline = Deadline::After(kAnswerLimit);
  std::string line;
  while (AwaitReady(socket, POLLIN, deadline)) {
    const auto read = rpc::ReadLine(socket, line, rpc::kLongestGreeting);
    if (read == rpc::LineRead::kBroken) return false;
    if (read == rpc::LineRead::kWhole) return rpc::IsChiefGreeting(line, words_);
  }
  return false;
}

bool Caller::Talk(Deadline& until) {
  base::UniqueFd socket = Dial();
  if (!socket.valid()) return false;
  const bool served = Serve(std::move(socket));
  until = Deadline::After(patience_);
  return served;
}

bool Caller::Serve(base::UniqueFd socket) {
  std::string line;
  while (!Leaves()) {
    for (; !reports_.empty(); reports_.pop_front()) {
      if (!Send(socket.get(), reports_.front())) return false;
    }
    if (Await(socket.get(), POLLIN, Deadline::Never()) != Woken::kReady) continue;
    const auto read = rpc::ReadLine(socket.get(), line, rpc::kLongestOrder);
    if (read == rpc::LineRead::kPart) continue;
    const auto order = read == rpc::LineRead::kWhole ? rpc::CallLine::FromLine(line) : std::nullopt;
    if (order && order->kind == rpc::kCallOver) over_ = true;
    if (!order || order->kind != rpc::kCallRun || order->texts.empty()) return false;
    Start(std::move(socket), *order);
    return true;
  }
  return false;
}

// What cannot be run has ended without a word but on stderr.
void Caller::Start(base::UniqueFd socket, const rpc::CallLine& order) {
  if (!Send(socket.get(), rpc::CallLine{rpc::kCallStarted, order.id}.ToLine())) return;
  fcntl(socket.get(), F_SETFL, 0);  // blocking, as programs expect it
  base::UniqueFd errors(memfd_create("stderr", MFD_CLOEXEC));
  process::SpawnRequest request = process::OurProgram(order.texts);
  if (order.texts[0] == rpc::kOwnProgram) request.argv[0] = ThisProgram();
  request.stdin_fd = request.stdout_fd = socket.get();
  request.stderr_fd = errors.get();
  request.dies_with_thread = false;
  const auto pid = process::Spawn(request);
  if (pid.ok()) {
    programs_[*pid] = {order.id, std::move(errors)};
    has_children_ = true;
  } else {
    reports_.push_back(rpc::CallLine{rpc::kCallEnded, order.id, {Message(pid.status())}}.ToLine());
  }
}

int WrongCall() {
  std::fprintf(stderr,
               "usage: autodist-agent call NODE SECONDS ADDRESS:PORT... , the words on stdin\n");
  return 2;
}

Result<rpc::CallWords> ReadWords() {
  std::string line;
  const Deadline deadline = Deadline::After(kWordsLimit);
  while (line.size() < rpc::kLongestGreeting && !line.ends_with('\n')) {
    char byte = 0;
    AD_ASSIGN_OR_RETURN(const size_t got, base::ReadSome(STDIN_FILENO, &byte, 1, deadline));
    if (got == 0) break;
    line += byte;
  }
  // Whoever sends what others need besides shall not wait for us to take it.
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.valid()) dup2(null.get(), STDIN_FILENO);
  if (const auto words = rpc::CallWords::FromLine(line)) return *words;
  return Error(StatusCode::kInvalidArgument, "there are no words on stdin");
}

}  // namespace

int Call(int argc, char** argv) {
  constexpr int kFewest = 5;
  int64_t seconds = 0;
  if (argc < kFewest || !rpc::IsNodeName(argv[2]) || !absl::SimpleAtoi(argv[3], &seconds) ||
      seconds < 0) {
    return WrongCall();
  }
  std::vector<Address> addresses;
  for (int i = kFewest - 1; i < argc; ++i) {
    const auto address = AddressIn(argv[i]);
    if (!address) return WrongCall();
    addresses.push_back(*address);
  }
  auto words = ReadWords();
  Status ready = words.status();
  if (words.ok()) {
    Caller caller(argv[2], std::chrono::seconds(seconds), WithoutOurs(std::move(addresses)),
                  *std::move(words));
    ready = caller.Prepare();
    if (ready.ok()) return caller.Run();
  }
  std::fprintf(stderr, "autodist-agent: %s\n", Message(ready).c_str());
  return 1;
}

}  // namespace autodist::agent
