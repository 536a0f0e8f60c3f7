// A supervisor for tests of what runs programs, not ranks.
#pragma once

#include <memory>

#include "supervisor.h"
#include "support/block_sigchld.h"

namespace autodist::test {

inline std::unique_ptr<agent::Supervisor> QuietSupervisor() {
  return *agent::Supervisor::Create({[](uint32_t, pid_t) {},
                                     [](uint32_t, agent::Stream, uint64_t, std::string) {},
                                     [](const agent::RankExit&) {}, [] {}});
}

}  // namespace autodist::test
