// PyTorch's record of its collectives, where it keeps one: Flight Recorder, of NCCL's process
// groups.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stacks/group_count.h"
#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::agent {

// What the names of its files in the folder of a job's files begin with (plan/rank_environment.cc);
// the number of the rank follows, and ".pipe", at which it waits for somebody who asks for one.
inline constexpr char kFlightRecord[] = "flight-recorder.";

struct FlightRecord {
  std::string bytes;  // of the file
  std::string text;   // of it, or of why it cannot be read: lines; printable
};

// Asks all that wait at a pipe in `folder` for a record, and returns what there is when they have
// written them, or at the deadline, of each rank. Blocks until then at most.
std::map<uint32_t, FlightRecord> FlightRecords(const std::string& folder, base::Deadline deadline);

// Of the bytes of a record, which may be anybody's: nothing of them is executed.
Result<std::vector<GroupCount>> CountsOfRecord(std::string_view bytes);

}  // namespace autodist::agent
