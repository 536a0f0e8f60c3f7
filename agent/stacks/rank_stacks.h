// Collects the stacks of all ranks of a node, and the counts of the libraries that they use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "process/environment.h"

namespace autodist::agent {

// The report about one rank.
struct RankReport {
  std::string text;           // counts of the libraries, and the ProcessStacks
  std::string flight_record;  // as written by PyTorch; "": none
};

// Reports the state of each rank, with the flight records in `files`, the folder of the job's
// files, also of ranks that have ended. `flight_records`: requests new records of running ranks
// first. Returns NCCL's report, or "". Blocks like ProcessStacks for each rank, for kNcclLimit, and
// for kRecordsLimit for the records. `send` is called on several threads.
std::string RankStacks(Supervisor& supervisor, const process::Environment& rank_environment,
                       const std::string& files, bool flight_records,
                       const std::function<void(uint32_t rank, const RankReport& report)>& send);

}  // namespace autodist::agent
