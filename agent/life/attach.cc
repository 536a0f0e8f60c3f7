#include "agent/life/attach.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "agent/life/clean.h"
#include "agent/life/connect_back.h"
#include "agent/life/keepers.h"
#include "agent/life/watchdog.h"
#include "base/thread.h"
#include "base/unix_socket.h"
#include "rpc/bootstrap_lines.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;

constexpr int kModeArgument = 7;

// Whether an agent is started: for a new job, or for one that may have had an agent here.
enum class Mode { kStart, kRejoin, kResume };

struct Request {
  JobFolder folder;
  std::string nonce;
  milliseconds lease;
  milliseconds grace;
  Mode mode;
  std::string scope;  // of the agent to resume with (ProcessScope); "": unknown
  bool held;          // watchdog and chief handle the scheduler's signals
};

// Returns an invalid descriptor if no agent of ours is reachable: others can use /tmp and names
// too.
base::UniqueFd Connect(const JobFolder& folder) {
  base::UniqueFd socket;
  if (folder.IsOurs()) socket = base::ConnectToThisUser(folder.chief_socket());
  if (!socket.valid()) socket = base::ConnectToThisUser(folder.chief_name());
  return socket;
}

// Blocks until no watchdog runs for the job. A watchdog may run even if its folder is not
// reachable.
void AwaitNoWatchdog(const JobFolder& folder) {
  const base::UniqueFd lock = folder.OpenLock(O_RDWR);
  if (lock.valid()) AwaitLock(lock.get(), JobLock::kWatchdog);
  AwaitNoKeepers(folder.name());
}

// Shows others that a chief is connected, as long as this process runs. Nothing else may open the
// lock file.
base::UniqueFd TakeCharge(const JobFolder& folder) {
  base::UniqueFd lock = folder.OpenLock(O_RDWR | O_CREAT);
  ShareLock(lock.get(), JobLock::kChiefInCharge);
  return lock;
}

struct Connection {
  base::UniqueFd socket = {};  // invalid: no agent
  base::UniqueFd charge = {};
  pid_t watchdog = 0;  // if it is our child
};

// Runs watchdog and agent in processes without terminal and login that outlive this one.
Result<pid_t> Detach(AgentOptions options, const Connection& ours) {
  AD_ASSIGN_OR_RETURN(base::FdPair starter, base::Pipe());
  const pid_t child = fork();
  if (child < 0) return ErrnoError(errno, "fork");
  if (child > 0) {
    (void)starter.second.Release();  // closed at our end, which signals it
    return child;
  }
  starter.second.Reset();
  close(ours.socket.get());
  close(ours.charge.get());
  options.starter = std::move(starter.first);
  _exit(GuardApart(std::move(options)));
}

Result<Connection> StartAgent(const Request& request, base::UniqueFd folder) {
  AgentOptions options{request.folder, std::move(folder), {}, {},          {},
                       request.lease,  request.grace,     {}, request.held};
  AD_ASSIGN_OR_RETURN(options.sockets.chief_listener,
                      base::ListenAt(request.folder.chief_socket()));
  AD_ASSIGN_OR_RETURN(options.sockets.rank_listener, base::ListenAt(request.folder.rank_socket()));
  AD_ASSIGN_OR_RETURN(base::FdPair first, base::StreamSocketPair());
  options.sockets.first_chief = std::move(first.first);
  // Best effort: a second way to the socket in the folder.
  options.sockets.named_listener =
      base::ListenAt(request.folder.chief_name()).value_or(base::UniqueFd());
  Connection connection{std::move(first.second), TakeCharge(request.folder)};
  AD_ASSIGN_OR_RETURN(connection.watchdog, Detach(std::move(options), connection));
  return connection;
}

Connection ConnectAndTakeCharge(const JobFolder& folder) {
  Connection connection{Connect(folder)};
  if (connection.socket.valid()) connection.charge = TakeCharge(folder);
  return connection;
}

Result<Connection> StartOrConnect(const Request& request) {
  if (request.mode == Mode::kResume) return ConnectAndTakeCharge(request.folder);
  for (;;) {
    AD_ASSIGN_OR_RETURN(base::UniqueFd folder, request.folder.Lock());
    Connection connection = ConnectAndTakeCharge(request.folder);
    if (connection.socket.valid()) return connection;
    const bool may_have_been =
        request.mode == Mode::kRejoin && !KeepersOf(request.folder.name()).empty();
    if (!HasWatchdog(request.folder) && !may_have_been) {
      return StartAgent(request, std::move(folder));
    }
    // The earlier agent has ended, and its watchdog is still working.
    folder.Reset();
    AwaitNoWatchdog(request.folder);
  }
}

enum class CopyEnd { kReadAll, kNotTaken };  // `from` has ended; `to` accepts no more

// Blocks, also on non-blocking descriptors.
CopyEnd CopyAll(int from, int to, bool& copied_any) {
  std::array<char, 65536> buffer;
  for (;;) {
    const auto got = base::ReadSome(from, buffer.data(), buffer.size(), base::Deadline::Never());
    if (!got.ok() || *got == 0) return CopyEnd::kReadAll;
    if (!base::WriteAll(to, {buffer.data(), *got}, base::Deadline::Never()).ok()) {
      return CopyEnd::kNotTaken;
    }
    copied_any = true;
  }
}

// Copies until the agent closes. If the chief closes first, the agent notices it and may continue.
// Returns whether the agent was first.
//
// Uses a thread for each direction, because one must not block the other. Non-blocking descriptors
// are no alternative, since stdin and stdout may be shared with programs that do not expect them.
bool PassBytes(int socket, int charge) {
  static std::atomic<bool> chief_ended = false;  // the thread may outlive this call
  auto thread = base::StartThread([socket, charge] {
    bool any = false;
    if (CopyAll(STDIN_FILENO, socket, any) == CopyEnd::kNotTaken) return;
    chief_ended = true;
    ReleaseLock(charge, JobLock::kChiefInCharge);
    shutdown(socket, SHUT_WR);
  });
  if (!thread.ok()) {
    std::fprintf(stderr, "autodist-agent: %s\n", Message(thread.status()).c_str());
    return false;
  }
  thread->detach();
  bool any = false;
  const CopyEnd end = CopyAll(socket, STDOUT_FILENO, any);
  // If stdout accepts no more, the chief is gone; an agent that has sent nothing has rejected the
  // greeting.
  return end == CopyEnd::kReadAll && !chief_ended && any;
}

bool IsPlainWord(const char* word) {
  const std::string_view text = word;
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

// Returns why an agent has ended that does not listen and whose watchdog is not visible. Fails if
// it may still run, for example in a container, or on a machine that has been replaced.
Result<std::string> WhatBecameOfAgent(const Request& request) {
  std::string reason = request.folder.ReadEndReason();
  if (!reason.empty()) return reason;
  switch (AbsenceIn(request.scope, ProcessScope())) {
    case Absence::kMachineRestarted:
      return Error(StatusCode::kUnavailable, "the machine was restarted, or replaced by another");
    case Absence::kEnded:
      if (!KillOrphans(request.folder)) {
        return Error(StatusCode::kUnavailable, "killed processes of the job have not ended yet");
      }
      return std::string("its agent and the agent's watchdog have ended for an unknown reason");
    case Absence::kUncertain:
      break;
  }
  return Error(StatusCode::kUnavailable,
               "this login cannot reach the job's agent or see whether it has ended; it may run in "
               "a container or another PID namespace");
}

// Waits until no process of the job is left here, so that the end of our output means that.
void AwaitWatchdog(const Connection& connection) {
  if (connection.watchdog > 0) waitpid(connection.watchdog, nullptr, 0);
  // Its parent may be another process; and if it was killed, the agent has replaced it.
  if (connection.charge.valid()) AwaitLock(connection.charge.get(), JobLock::kWatchdog);
}

int Refuse() {
  std::fprintf(stderr,
               "usage: autodist-agent attach JOB NODE_RANK NONCE LEASE_MS GRACE_MS "
               "start|rejoin|resume [SCOPE]\n");
  return 2;
}

int Fail(const Status& status) {
  const std::string remedy = Remedy(status);
  std::fprintf(stderr, "autodist-agent: %s\n", Message(status).c_str());
  if (!remedy.empty()) std::fprintf(stderr, "%s%s\n", rpc::kRemedyMark, remedy.c_str());
  return 1;
}

Request RequestOf(int argc, char** argv) {
  const std::string_view word = argv[kModeArgument];
  const Mode mode = word == "start"    ? Mode::kStart
                    : word == "rejoin" ? Mode::kRejoin
                                       : Mode::kResume;
  return {mode == Mode::kStart ? JobFolder(argv[2], argv[3]) : JobFolder::Find(argv[2], argv[3]),
          argv[4],
          milliseconds(std::atoll(argv[5])),
          milliseconds(std::atoll(argv[6])),
          mode,
          argc > kModeArgument + 1 ? argv[kModeArgument + 1] : "",
          std::getenv(kCallbackVariable) != nullptr};
}

// Returns whether the line was written.
bool SayReady(const Request& request) {
  const std::string scope = ProcessScope();
  const std::string line = (scope.empty() ? "" : rpc::BeginOfScopeLine(request.nonce) + scope) +
                           rpc::ReadyLine(request.nonce);
  return base::WriteAll(STDOUT_FILENO, line, base::Deadline::Never()).ok();
}

}  // namespace

int Attach(int argc, char** argv) {
  const bool right_count = argc == kModeArgument + 1 || argc == kModeArgument + 2;
  if (!right_count || !std::all_of(argv + 2, argv + argc, IsPlainWord)) return Refuse();
  const Request request = RequestOf(argc, argv);
  unsetenv(kCallbackVariable);  // what we start does not belong to the scheduler
  signal(SIGPIPE, SIG_IGN);     // the agent may close before it has read everything
  if (request.held) {
    for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
  }
  const Result<Connection> connection = StartOrConnect(request);
  if (!connection.ok()) return Fail(connection.status());
  if (!connection->socket.valid()) {
    AwaitNoWatchdog(request.folder);  // whose last output is the reason
    const Result<std::string> reason = WhatBecameOfAgent(request);
    if (!reason.ok()) return Fail(reason.status());
    const std::string line = rpc::GoneLine(request.nonce) + *reason + "\n";
    return base::WriteAll(STDOUT_FILENO, line, base::Deadline::Never()).ok() ? 0 : 1;
  }
  if (!SayReady(request)) return 1;
  if (PassBytes(connection->socket.get(), connection->charge.get())) {
    AwaitWatchdog(*connection);
  }
  return 0;
}

}  // namespace autodist::agent
