// Events of an agent, for tests: without a sequence number, with typical fields of a rank's
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autodist/v1/agent.pb.h"

namespace autodist::test {

v1::AgentEvent Resumed(uint64_t instance = 1);
v1::AgentEvent RankStarted(uint32_t rank);
// Without a code, the way the rank ended is unknown.
v1::AgentEvent RankExited(uint32_t rank, std::optional<int> code = std::nullopt);
// Writes to stdout.
v1::AgentEvent RankWrote(uint32_t rank, uint64_t offset, const std::string& data);
v1::AgentEvent Warning(const std::string& what);

}  // namespace autodist::test
