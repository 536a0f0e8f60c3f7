#include "launch/await_program.h"

#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/proof_of_end.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/limits.h"
#include "transport/reach_causes.h"

namespace autodist::launch {
namespace {

using std::chrono::seconds;

namespace cause = transport::cause;

constexpr size_t kMaxNoise = 1 << 20;  // that a login shell may print first
constexpr size_t kMaxScope = 64;       // bytes
constexpr seconds kStderrLimit{1};     // until stderr is complete

const transport::Cause& CauseOf(const FailedStart& failed) {
  if (failed.state == StartState::kFolder) {
    return failed.timed_out      ? cause::kSlowFolder
           : failed.said.empty() ? cause::kFolderFails
                                 : cause::kNoFolder;
  }
  if (failed.timed_out) return cause::kSlowProgram;
  return failed.state == StartState::kSending ? cause::kNotSent : cause::kProgramFails;
}

// Reads up to and including the first line feed; what follows may be for another reader. "" at the
// end of the stream.
Result<std::string> ReadPartOfLine(int socket, base::Deadline deadline) {
  std::string text(4096, '\0');
  AD_RETURN_IF_ERROR(base::WaitReadable(socket, deadline));
  const ssize_t seen = recv(socket, text.data(), text.size(), MSG_PEEK);
  if (seen < 0) return ErrnoError(errno, "read");
  text.resize(static_cast<size_t>(seen));
  text.resize(std::min(text.find('\n'), text.size() - 1) + 1);
  if (recv(socket, text.data(), text.size(), 0) < 0) return ErrnoError(errno, "read");
  return text;
}

// Reads the reason that follows the line about the agent's end.
Status AgentIsGone(int socket, base::Deadline deadline) {
  std::string reason;
  while (reason.size() < kMaxNoise) {
    const auto part = ReadPartOfLine(socket, deadline);
    if (!part.ok() || part->empty()) break;
    reason += *part;
  }
  while (reason.ends_with('\n')) reason.pop_back();
  if (reason.empty()) {
    return Error(StatusCode::kUnavailable,
                 "the connection broke while its agent's end was reported");
  }
  return ProofOfEnd::ByNode(
      Error(StatusCode::kUnavailable, base::ToUtf8(reason, rpc::kMaxTextLength)));
}

// The text of a node is untrusted.
std::string ScopeIn(const std::string& seen, const std::string& nonce) {
  const std::string begin = rpc::BeginOfScopeLine(nonce);
  const size_t at = seen.rfind(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  const std::string scope = seen.substr(from, seen.find('\n', from) - from);
  const bool plain = scope.size() <= kMaxScope && std::ranges::all_of(scope, [](unsigned char c) {
                       return std::isalnum(c) || c == '-';
                     });
  return plain ? scope : "";
}

// One wait for a program.
class Awaiting {
 public:
  Awaiting(transport::Stream& stream, int socket, const transfer::NodeProgram& program,
           const std::string& nonce, const AgentCommand& command, const StartWatch& watch)
      : stream_(stream),
        socket_(socket),
        program_(program),
        nonce_(nonce),
        watch_(watch),
        shell_(rpc::ShellLine(nonce)),
        sent_it_(!command.installs),
        state_(command.installs ? StartState::kShell : StartState::kProgram),
        deadline_(base::Deadline::After(watch.limit)) {}

  Status Run(const std::stop_token& stop) {
    const std::string ready = rpc::ReadyLine(nonce_);
    const std::string gone = rpc::GoneLine(nonce_);
    while (!seen_.ends_with(ready)) {
      const auto part = ReadPartOfLine(socket_, deadline_);
      if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
      if (!part.ok()) return Failed(part.status());
      if (part->empty()) {
        return Failed(Error(StatusCode::kNotFound, "the command ended without starting it"));
      }
      seen_ += *part;
      if (seen_.ends_with(gone)) return AgentIsGone(socket_, deadline_);
      if (seen_.size() > kMaxNoise) return transport::CauseError(cause::kEndlessOutput);
      AD_RETURN_IF_ERROR(TakeLine(*part));
    }
    return OkStatus();
  }
  std::string scope() const { return ScopeIn(seen_, nonce_); }
  Status Failed(const Status& why) {
    const bool timed_out = why.code() == StatusCode::kDeadlineExceeded;
    if (!timed_out) stream_.WaitClosed(base::Deadline::After(kStderrLimit));
    AD_RETURN_IF_ERROR(state_ == StartState::kShell ? stream_.FailureIn(seen_) : stream_.Failure());
    return WhyNotStarted({state_, timed_out, seen_, stream_.StderrTail(), program_.what(),
                          watch_.limit, watch_.in_container},
                         why);
  }

 private:
  // Handles the last line, or part of a line.
  Status TakeLine(const std::string& line) {
    if (state_ == StartState::kShell) {
      AD_RETURN_IF_ERROR(transport::EndOfLogin(line));
    }
    if (state_ == StartState::kShell && seen_.ends_with(shell_)) {
      state_ = StartState::kFolder;
      deadline_ = base::Deadline::After(watch_.limit);
      if (watch_.shell_ran) watch_.shell_ran();
    }
    const auto machine = sent_it_ ? std::nullopt : MachineInNeed(seen_, nonce_);
    if (machine) return Send(*machine);
    return OkStatus();
  }

  Status Send(const std::string& machine) {
    sent_it_ = true;
    state_ = StartState::kSending;
    AD_ASSIGN_OR_RETURN(const bundle::Agent variant, program_.For(machine));
    using Clock = base::Deadline::Clock;
    const Clock::time_point began = Clock::now();
    const auto sent = [this](uint64_t bytes, uint64_t of) {
      if (watch_.sent) watch_.sent(bytes, of);
    };
    const Status upload = SendProgram(socket_, variant, sent);
    if (!upload.ok()) return Failed(Annotate(upload, std::string("sending ") + program_.what()));
    state_ = StartState::kProgram;
    // The last part is still in transit, and takes less time than the rest.
    const Clock::time_point sent_at = Clock::now();
    deadline_ = base::Deadline::At(sent_at + watch_.limit + (sent_at - began));
    return OkStatus();
  }

  transport::Stream& stream_;
  const int socket_;
  const transfer::NodeProgram& program_;
  const std::string& nonce_;
  const StartWatch& watch_;
  const std::string shell_;
  bool sent_it_;
  StartState state_;
  base::Deadline deadline_;
  std::string seen_;
};

}  // namespace

Status WhyNotStarted(const FailedStart& failed, const Status& why) {
  if (failed.state == StartState::kShell) {
    const std::string printed = failed.printed + failed.said;
    if (!failed.timed_out) return transport::CommandNotRun(printed);
    return transport::CommandLate(failed.in_container ? cause::kContainerWaits : cause::kShellWaits,
                                  printed, failed.limit);
  }
  std::string said = failed.said;
  while (said.ends_with('\n')) said.pop_back();
  const size_t last_line = said.rfind('\n') + 1;
  const std::string_view mark = rpc::kRemedyMark;
  std::string hint;
  if (std::string_view(said).substr(last_line).starts_with(mark)) {
    hint = said.substr(last_line + mark.size());
    said.resize(last_line - std::min<size_t>(last_line, 1));
  }
  const Status failure =
      transport::CauseError(CauseOf(failed), {{"{program}", failed.program},
                                              {"{limit}", base::Seconds(failed.limit)},
                                              {"{said}", Message(why)}});
  return {why.code(), Message(failure) + (said.empty() ? "" : ":\n" + said),
          hint.empty() ? Remedy(failure) : hint};
}

Result<base::UniqueFd> AwaitProgram(transport::Stream& stream, const transfer::NodeProgram& program,
                                    const std::string& nonce, const AgentCommand& command,
                                    const std::stop_token& stop, const StartWatch& watch) {
  base::UniqueFd socket = stream.TakeSocket();
  const std::stop_callback cancel(stop, [fd = socket.get()] { shutdown(fd, SHUT_RDWR); });
  AD_RETURN_IF_ERROR(transport::WithLogin(
      Awaiting(stream, socket.get(), program, nonce, command, watch).Run(stop), stream.login()));
  return socket;
}

Result<ReachedAgent> AwaitAgent(transport::Stream& stream, const transfer::NodeProgram& program,
                                const AgentSession& session, const AgentCommand& command,
                                const std::stop_token& stop, const StartWatch& watch) {
  base::UniqueFd socket = stream.TakeSocket();
  Awaiting awaiting(stream, socket.get(), program, session.nonce, command, watch);
  {
    const std::stop_callback cancel(stop, [fd = socket.get()] { shutdown(fd, SHUT_RDWR); });
    AD_RETURN_IF_ERROR(transport::WithLogin(awaiting.Run(stop), stream.login()));
  }
  const Status greeted =
      base::WriteAll(socket.get(), session.greeting, base::Deadline::After(watch.limit));
  if (!greeted.ok()) return transport::WithLogin(awaiting.Failed(greeted), stream.login());
  return ReachedAgent{std::move(socket), awaiting.scope()};
}

}  // namespace autodist::launch
