// A stand-in for NCCL and the CUDA runtime, with the calls of src/comm/nccl_communicator.cc: a
// communicator whose peers behave as a test sets them, on a device that has done nothing, or all.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

namespace stand_in {

struct State {
  // Set by tests.
  bool device_is_stuck = false;          // work in the stream never completes
  ncclResult_t peers = ncclSuccess;      // the error of the peers that NCCL reports
  ncclResult_t next_send = ncclSuccess;  // result of ncclSend

  // Read by tests.
  std::vector<std::string> queued;  // "all-reduce", "send 1", ...
  int polls = 0;                    // of the device
  int open_groups = 0;
  int aborted = 0;
  int finalized = 0;
  int destroyed = 0;
  bool misused = false;  // called during another call, or after its end

  int in_progress = 0;  // remaining "in progress" results
};

inline State state;

// How often NCCL returns "in progress" after each call.
inline constexpr int kInProgress = 3;

}  // namespace stand_in
