// What all ranks of a node are doing, with what the libraries that they use count.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/supervisor/supervisor.h"
#include "process/environment.h"

namespace autodist::agent {

// Of a rank.
struct RankReport {
  std::string text;           // what its libraries count, and its ProcessStacks
  std::string flight_record;  // as PyTorch has written it; "": it has none
};

// Tells what each rank is doing, with the flight records that are in `files`, the folder of the
// job's files, also of ranks that have ended; with `flight_records` those that run are asked for
// theirs before. Returns NCCL's own view, "" where it gives none. Blocks as ProcessStacks does for
// each rank, for kNcclLimit, and for the records for kRecordsLimit. `tell` is called on several
// threads.
std::string RankStacks(Supervisor& supervisor, const process::Environment& rank_environment,
                       const std::string& files, bool flight_records,
                       const std::function<void(uint32_t rank, const RankReport& report)>& tell);

}  // namespace autodist::agent
