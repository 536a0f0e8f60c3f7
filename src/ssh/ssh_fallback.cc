#include "ssh/ssh_fallback.h"

#include <signal.h>

#include <chrono>
#include <set>

#include "base/log.h"
#include "ssh/ssh_program.h"
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

}  // namespace

bool SshFallback::IsChosen(const v1::SshReach& reach) const {
  const std::lock_guard lock(mutex_);
  const auto found = tried_.find(LoginOf(reach));
  return found != tried_.end() && found->second;
}

bool SshFallback::IsSettled(const v1::SshReach& reach) const {
  const std::lock_guard lock(mutex_);
  return tried_.contains(LoginOf(reach));
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

}  // namespace autodist::ssh
