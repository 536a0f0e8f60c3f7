// Plays NCCL and the CUDA runtime for src/comm/nccl_communicator.cc, as far as that calls them: a
// communicator whose peers do what a test says, on a device that has done nothing, or all.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

namespace stand_in {

struct State {
  // What a test sets.
  bool device_is_stuck = false;          // nothing in the stream is ever done
  ncclResult_t peers = ncclSuccess;      // what NCCL has noticed of them
  ncclResult_t next_send = ncclSuccess;  // what ncclSend gives

  // What a test looks at.
  std::vector<std::string> queued;  // "all-reduce", "send 1", ...
  int polls = 0;                    // of the device
  int open_groups = 0;
  int aborted = 0;
  int finalized = 0;
  int destroyed = 0;
  bool misused = false;  // called while a call was in progress, or after its end

  int in_progress = 0;  // how often NCCL says so yet
};

inline State state;

// How often NCCL says "in progress" after each call.
inline constexpr int kInProgress = 3;

}  // namespace stand_in
