// The nodes that are reached through the `ssh` program because autodist's login fails there.
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
  // Whether an earlier call has found that the ssh program succeeds there.
  bool IsChosen(const v1::SshReach& reach) const;

  // Whether it is known which of the two login methods works there, or that neither does.
  bool IsSettled(const v1::SshReach& reach) const;

  // Records that autodist's login has succeeded: a later failure has a cause that ssh would share.
  void SettleOnOwn(const v1::SshReach& reach);

  // Whether `ssh NODE true` succeeds after autodist's login failed for this reason; tried once for
  // a node, with a warning if it does. Blocks for a login at most, or until it is stopped.
  bool Helps(const v1::SshReach& reach, const Status& failure, const std::stop_token& stop);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, bool> tried_;  // by login; guarded by mutex_; value: whether ssh succeeds
};

}  // namespace autodist::ssh
