// PyTorch's record of its collectives, where it keeps one: Flight Recorder, of NCCL's process
// groups.
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

// What the names of its files in the folder of a job's files begin with (plan/rank_environment.cc);
// the number of the rank follows, and ".pipe", at which it waits to be asked for one.
inline constexpr char kFlightRecord[] = "flight-recorder.";

struct FlightRecord {
  std::string bytes;  // of the file
  std::string text;   // of it, or of why it cannot be read: lines; printable
};

// That have a record in `folder`, or can be asked for one.
std::set<uint32_t> RecordingRanks(const std::string& folder);

// Asks all that wait at a pipe in `folder` for a record. Blocks until they have written them, at
// most until the deadline.
void AskForFlightRecords(const std::string& folder, base::Deadline deadline);

// What the rank has written in `folder`, if only unasked, as PyTorch does at its time limit.
std::optional<FlightRecord> ReadFlightRecord(const std::string& folder, uint32_t rank);

// That of all ranks that are wanted; it is gone from there, as the next time it would be old.
std::map<uint32_t, FlightRecord> TakeFlightRecords(
    const std::string& folder, const std::function<bool(uint32_t rank)>& is_wanted);

// Of the bytes of a record, which may be anybody's: nothing of them is executed. `now_ms`: since
// 1970.
Result<std::vector<GroupCount>> CountsOfRecord(std::string_view bytes, int64_t now_ms);

}  // namespace autodist::agent
