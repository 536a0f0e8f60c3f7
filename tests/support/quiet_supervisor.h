// A supervisor for tests of code that runs programs, not ranks.
#pragma once

#include <memory>

#include "agent/supervisor/supervisor.h"
#include "support/block_sigchld.h"

namespace autodist::test {

inline std::unique_ptr<agent::Supervisor> QuietSupervisor() {
  return *agent::Supervisor::Create({[](uint32_t, base::UniqueFd, base::UniqueFd) {},
                                     [](uint32_t, pid_t, int64_t) {}, [](const agent::RankExit&) {},
                                     [] {}});
}

}  // namespace autodist::test
