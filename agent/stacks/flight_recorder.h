// Reads PyTorch's Flight Recorder, a record of the collectives of NCCL's process groups.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/stacks/group_count.h"
#include "autodist/status.h"
#include "base/deadline.h"

namespace autodist::agent {

// The prefix of these files in the folder of a job's files (plan/rank_environment.cc). The rank's
// number follows; ".pipe" is the pipe at which it waits for requests.
inline constexpr char kFlightRecord[] = "flight-recorder.";

struct FlightRecord {
  std::string bytes;  // of the file
  std::string text;   // its printable lines, or why it cannot be read
};

// Returns the ranks with a record in `folder`, or with a pipe for requests.
std::set<uint32_t> RecordingRanks(const std::string& folder);

// Requests records through all pipes in `folder`. Blocks until they have been written, at most
// until the deadline.
void AskForFlightRecords(const std::string& folder, base::Deadline deadline);

// Returns the rank's record in `folder`, which PyTorch also writes without a request, at its
// timeout.
std::optional<FlightRecord> ReadFlightRecord(const std::string& folder, uint32_t rank);

// Returns the records of the wanted ranks, and removes the files, which would be outdated later.
std::map<uint32_t, FlightRecord> TakeFlightRecords(
    const std::string& folder, const std::function<bool(uint32_t rank)>& is_wanted);

// Parses a record, which is untrusted: nothing in it is executed. `now_ms`: since 1970.
Result<std::vector<GroupCount>> CountsOfRecord(std::string_view bytes, int64_t now_ms);

}  // namespace autodist::agent
