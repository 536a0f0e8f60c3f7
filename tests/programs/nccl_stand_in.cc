#include "nccl_stand_in.h"

#include <cuda_runtime.h>

#include <cstdlib>
#include <string>
#include <utility>

using stand_in::state;

namespace {

char communicator;

ncclComm_t TheCommunicator() { return reinterpret_cast<ncclComm_t>(&communicator); }

bool Gone() { return state.aborted + state.destroyed > 0; }

// Starts a call that continues in the background, as with a non-blocking communicator.
ncclResult_t Begin(std::string what) {
  if (state.in_progress > 0 || Gone()) state.misused = true;
  state.queued.push_back(std::move(what));
  if (state.open_groups > 0) return ncclSuccess;
  state.in_progress = stand_in::kInProgress;
  return ncclInProgress;
}

}  // namespace

extern "C" {

cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "an error of CUDA's"; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) {
  ++state.polls;
  return state.device_is_stuck ? cudaErrorNotReady : cudaSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error" : "other";
}
const char* ncclGetLastError(ncclComm_t) { return "from the stand-in"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int, ncclUniqueId, int,
                                    ncclConfig_t* config) {
  state = {};
  state.misused = config->blocking != 0;
  state.in_progress = stand_in::kInProgress;
  *made = TheCommunicator();
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t asked, ncclResult_t* result) {
  if (asked != TheCommunicator() || Gone()) state.misused = true;
  *result = state.peers;
  if (state.peers == ncclSuccess && state.in_progress > 0) {
    --state.in_progress;
    *result = ncclInProgress;
  }
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) {
  ++state.finalized;
  state.in_progress = stand_in::kInProgress;
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t) {
  if (state.in_progress > 0) state.misused = true;
  ++state.destroyed;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++state.aborted;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++state.open_groups;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  --state.open_groups;
  if (state.open_groups > 0) return ncclSuccess;
  state.in_progress = stand_in::kInProgress;
  return ncclInProgress;
}
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t) {
  return Begin("all-reduce");
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t,
                           cudaStream_t) {
  return Begin("broadcast");
}
ncclResult_t ncclAllGather(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return Begin("all-gather");
}
ncclResult_t ncclReduceScatter(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t) {
  return Begin("reduce-scatter");
}
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  const ncclResult_t sent = Begin("send " + std::to_string(peer));
  return state.next_send == ncclSuccess ? sent : state.next_send;
}
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int peer, ncclComm_t, cudaStream_t) {
  return Begin("recv " + std::to_string(peer));
}

}  // extern "C"
