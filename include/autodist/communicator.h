// Collective operations over all ranks of a job.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "autodist/client.h"
#include "autodist/status.h"

// As CUDA and NCCL declare them: a cudaStream_t is a CUstream_st*, an ncclComm_t an ncclComm*.
struct CUstream_st;
struct ncclComm;

namespace autodist {

enum class DataType { kFloat32, kFloat64, kFloat16, kBfloat16, kInt32, kInt64 };
enum class ReduceOp { kSum, kProduct, kMin, kMax };

// Bytes per element.
size_t SizeOf(DataType type);

// Every rank must make the same calls in the same order, from one thread at a time. Each call
// blocks until this rank's part is done, except those of an NcclCommunicator, and fails if a peer
// is gone or does not participate in time. After a failure all calls fail;
// docs/reference/worker_library.md describes failures. Destroy it before the process exits:
// otherwise peers consider this rank lost, and their unfinished operations fail. Counts are in
// elements. Pointers are to host memory for Gloo, to device memory for NCCL. `in` and `out` must
// not overlap, except where a call permits it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // out[i] = op over all ranks of in[i]; the result is the same, bit for bit, on every rank. `out`
  // may be `in`.
  virtual Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op) = 0;
  Status AllReduce(void* data, size_t count, DataType type, ReduceOp op) {
    return AllReduce(data, data, count, type, op);
  }

  // out = root's in. `out` may be `in`; other ranks' `in` is not read.
  virtual Status Broadcast(const void* in, void* out, size_t count, DataType type,
                           uint32_t root) = 0;
  Status Broadcast(void* data, size_t count, DataType type, uint32_t root) {
    return Broadcast(data, data, count, type, root);
  }

  // out = the in of rank 0, of rank 1, ...; in has `count` elements, out world size times as many.
  // `in` may be this rank's part of `out`.
  virtual Status AllGather(const void* in, void* out, size_t count, DataType type) = 0;

  // out = this rank's part of op over all ranks of in; out has `count` elements, in world size
  // times as many. `out` may be this rank's part of `in`.
  virtual Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                               ReduceOp op) = 0;

  // Part r of out = this rank's part of the in of rank r; a part has `count` elements.
  virtual Status AllToAll(const void* in, void* out, size_t count, DataType type) = 0;

  // Sends `in` to rank `to` and receives `out` from rank `from` at the same time; those ranks make
  // the matching call, and other ranks need not call it. Both may be this rank itself.
  virtual Status SendReceive(const void* in, uint32_t to, void* out, uint32_t from, size_t count,
                             DataType type) = 0;

  // Returns after all ranks have called it.
  virtual Status Barrier() = 0;

  // Returns when the work queued by previous calls is done; immediately if calls block. Fails after
  // `timeout`.
  virtual Status Wait(std::chrono::milliseconds timeout) = 0;
};

// An NCCL communicator that queues work on a stream, like NCCL itself: each call adds its work to
// the stream, and returns. The result is valid for later work on the stream, and for the host after
// Wait, which also ends when a peer is gone. CUDA's functions that wait for the stream, for example
// by copying a result, may never return then.
class NcclCommunicator : public Communicator {
 public:
  // Returns the underlying communicator, for other functions of NCCL; null after a failure. Stays
  // ours. It is non-blocking: if a call of NCCL returns ncclInProgress, poll ncclCommGetAsyncError
  // before the next call; our own calls do so themselves.
  virtual ncclComm* comm() const = 0;
  virtual CUstream_st* stream() const = 0;
};

struct CommunicatorOptions {
  // How long to wait for peers, at the start and in each call.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// Communicates between CPUs, over TCP. float32, float64, int32 and int64. The client must outlive
// it.
Result<std::unique_ptr<Communicator>> MakeGlooCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

// Communicates between GPUs, on the device with the number of the local rank. All types. Calls
// block; work is ordered after work queued on CUDA's default stream. kUnimplemented if this library
// was built without NCCL. The client must outlive it.
Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

// The same on the current device, queued on `stream`, which belongs to this device and must outlive
// it; null is CUDA's default stream.
Result<std::unique_ptr<NcclCommunicator>> MakeNcclStreamCommunicator(
    Client& client, CUstream_st* stream, CommunicatorOptions options = {});

}  // namespace autodist
