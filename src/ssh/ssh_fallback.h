// Which nodes are reached through the `ssh` program because our own logins fail there.
#pragma once

#include <map>
#include <mutex>
#include <stop_token>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::ssh {

// Thread-safe.
class SshFallback {
 public:
  // Whether an earlier call has found that the ssh program gets in there.
  bool IsChosen(const v1::SshReach& reach) const;

  // Whether it is known already which of both logins works there, or that neither does.
  bool IsSettled(const v1::SshReach& reach) const;

  // Our own login has succeeded there: one that fails later has a cause that ssh would meet, too.
  void SettleOnOwn(const v1::SshReach& reach);

  // Whether `ssh NODE true` succeeds where our own login has failed for this reason; tried once for
  // a node, and said where it is so. Blocks for a login at most, or until it is stopped.
  bool Helps(const v1::SshReach& reach, const Status& failure, const std::stop_token& stop);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, bool> tried_;  // guarded by mutex_: by login, whether it helps
};

}  // namespace autodist::ssh
