// Collects the stacks of all ranks of a node, and the counts of the libraries that they use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/prepare/prepare.h"
#include "agent/stacks/tcp_sockets.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/session.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// The report about one rank.
struct RankReport {
  std::string text;           // counts of the libraries, facts about the node, the ProcessStacks
  std::string flight_record;  // as written by PyTorch; "": none
};

// Reports the state of each rank, with the flight records in the folder of the job's files, also of
// ranks that have ended. Returns NCCL's report, or "". Blocks like ProcessStacks for each rank, for
// kNcclLimit, and for kRecordsLimit for the records. `send` is called on several threads.
//
// Facts about the node are that of BusiestOther, and lines such as "connections to 10.0.0.7:5000: 3
// refused", of attempts since the call before if that wanted to watch, and during this one if it
// does: programs that show stacks may take long.
std::string RankStacks(Supervisor& supervisor, const process::Environment& rank_environment,
                       const AgentPlace& place, const v1::CollectStacks& wanted,
                       ConnectionWatch& connections,
                       const std::function<void(uint32_t rank, const RankReport& report)>& send);

}  // namespace autodist::agent
