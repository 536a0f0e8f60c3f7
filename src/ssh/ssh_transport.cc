#include "ssh/ssh_transport.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "base/log.h"
#include "base/shell_quote.h"
#include "transport/local.h"

namespace autodist::ssh {
namespace {

// The limit for the login and `true`, after the connection.
constexpr std::chrono::seconds kTrialLimit{15};
constexpr size_t kMaxOutput = 1 << 20;  // of the node's start-up files

std::string LoginOf(const v1::SshReach& reach) {
  return reach.username() + "@" + reach.host() + ":" + std::to_string(reach.port());
}

// Never asks the user, and accepts no host key that autodist's login would reject.
bool SshLogsIn(const v1::SshReach& reach, const std::stop_token& stop) {
  const auto program = transport::StartOurProgram(SshProgramArgv(reach, {.command = "true"}));
  if (!program.ok()) return false;
  const std::stop_callback cancel(stop, [&] { kill((*program)->pid(), SIGTERM); });
  const auto limit = std::chrono::milliseconds(reach.connect_limit_ms()) + kTrialLimit;
  const auto output = transport::OutputOf(**program, base::Deadline::After(limit), kMaxOutput);
  if (!output.ok()) kill((*program)->pid(), SIGTERM);
  return output.ok() && (*program)->ExitStatus() == 0;
}

class SshStream final : public transport::Stream {
 public:
  SshStream(std::shared_ptr<SshSession> session, base::UniqueFd socket, transport::Login login)
      : session_(std::move(session)), socket_(std::move(socket)), login_(std::move(login)) {}

  base::UniqueFd TakeSocket() override { return std::move(socket_); }
  std::string StderrTail() const override { return session_->StderrTail(); }
  bool WaitClosed(base::Deadline deadline) override { return session_->WaitEnded(deadline); }
  Status Failure() const override { return session_->Failure(); }
  transport::Login login() const override { return login_; }

 private:
  const std::shared_ptr<SshSession> session_;  // the loop keeps it until the program has ended
  base::UniqueFd socket_;
  const transport::Login login_;
};

// Whether a Kerberos ticket may exist, with which `ssh` may log in if no key is accepted.
bool HasTicket() {
  return std::getenv("KRB5CCNAME") != nullptr ||
         access(("/tmp/krb5cc_" + std::to_string(geteuid())).c_str(), R_OK) == 0;
}

}  // namespace

bool SshFallback::IsChosen(const v1::SshReach& reach) const {
  const std::lock_guard lock(mutex_);
  const auto found = tried_.find(LoginOf(reach));
  return found != tried_.end() && found->second;
}

void SshFallback::SettleOnOwn(const v1::SshReach& reach) {
  const std::lock_guard lock(mutex_);
  tried_.emplace(LoginOf(reach), false);
}

bool SshFallback::Helps(const v1::SshReach& reach, const Status& failure,
                        const std::stop_token& stop) {
  const std::string login = LoginOf(reach);
  {
    const std::lock_guard lock(mutex_);
    const auto found = tried_.find(login);
    if (found != tried_.end()) return found->second;
  }
  const bool helps = SshLogsIn(reach, stop);
  if (stop.stop_requested()) return false;
  const std::lock_guard lock(mutex_);
  tried_[login] = helps;
  static std::set<StatusCode> said;  // for the whole process; guarded by `said_mutex`
  static std::mutex said_mutex;
  const std::lock_guard said_lock(said_mutex);
  if (helps && said.insert(failure.code()).second) {
    base::Log(base::LogLevel::kWarning,
              reach.host() + ": reached through the ssh program, as autodist's own login fails: " +
                  Message(failure));
  }
  return helps;
}

Result<std::unique_ptr<transport::Stream>> SshTransport::Run(const std::vector<std::string>& argv,
                                                             const std::stop_token& stop) {
  if (!no_session_.ok()) {
    const bool helps = fallback_->Helps(reach_, no_session_, stop);
    if (!helps) return no_session_;
  }
  if (!session_ || fallback_->IsChosen(reach_) ||
      session_->known_hosts->HasAuthority(reach_.host_key_name(), session_->port())) {
    return program_.Run(argv, stop);
  }
  bool may_fall_back = false;
  auto stream = RunInSession(argv, stop, may_fall_back);
  if (stream.ok()) return stream;
  const StatusCode code = stream.status().code();
  const bool program_can_more =
      code == StatusCode::kUnimplemented || (code == StatusCode::kPermissionDenied &&
                                             (session_->keys.only_ssh_can_use_more || HasTicket()));
  if (program_can_more || (may_fall_back && fallback_->Helps(reach_, stream.status(), stop))) {
    return program_.Run(argv, stop);
  }
  return stream;
}

Result<std::unique_ptr<transport::Stream>> SshTransport::RunInSession(
    const std::vector<std::string>& argv, const std::stop_token& stop, bool& may_fall_back) {
  AD_ASSIGN_OR_RETURN(base::FdPair sockets, base::StreamSocketPair());
  const auto session = std::make_shared<SshSession>(
      loop_, *session_, "exec " + base::ShellLine(argv), std::move(sockets.second));
  loop_.Add(session);
  const std::stop_callback cancel(stop, [&] {
    session->Cancel();
    loop_.Nudge(session);
  });
  if (const Status started = session->WaitStarted(); !started.ok()) {
    may_fall_back = session->SshMayGetFurther();
    return transport::WithLogin(started, LoginTo(reach_));
  }
  fallback_->SettleOnOwn(reach_);
  return std::make_unique<SshStream>(session, std::move(sockets.first), LoginTo(reach_));
}

}  // namespace autodist::ssh
