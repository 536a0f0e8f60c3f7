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
// blocks until this rank's part is done, except those of an NcclCommunicator, and fails when a peer
// is gone or does not take part in time. After a failure all calls fail; docs/worker_library.md
// says what a failure looks like.
// To be destroyed before the process ends: without that, peers take this rank for lost, and what
// they have not yet finished fails.
// Counts are in elements. Pointers are to host memory for Gloo, to device memory for NCCL. `in` and
// `out` must not overlap, except as a call says.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // out[i] = op over all ranks of in[i]; the result is the same, bit for bit, on every rank. `out`
  // may be `in`.
  virtual Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op) = 0;
  Status AllReduce(void* data, size_t count, DataType type, ReduceOp op) {
    return AllReduce(data, data, count, type, op);
  }

  // out = root's in. `out` may be `in`; that of other ranks is not read.
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

  // Sends `in` to rank `to` and receives `out` from rank `from`, both at the same time, as those
  // ranks do in the same call. Both may be this rank itself.
  virtual Status SendReceive(const void* in, uint32_t to, void* out, uint32_t from, size_t count,
                             DataType type) = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier() = 0;

  // Returns when what the calls before have queued is done, at once where they block. Fails when
  // that takes longer than `timeout`.
  virtual Status Wait(std::chrono::milliseconds timeout) = 0;
};

// NCCL's, in the order of a stream, as its own calls: each puts its work behind what the stream has
// to do, and returns. The result is there for what is put behind it, and for the host after Wait,
// which also ends when a peer has gone. Whoever waits for the stream by CUDA's own means, by
// copying a result from it say, may wait for ever then.
class NcclCommunicator : public Communicator {
 public:
  // For everything else that NCCL can do; null after a failure. Stays ours. It is a non-blocking
  // one: where a call of NCCL's gives ncclInProgress, ncclCommGetAsyncError tells when the next may
  // come; our own calls wait for that themselves.
  virtual ncclComm* comm() const = 0;
  virtual CUstream_st* stream() const = 0;
};

struct CommunicatorOptions {
  // How long a peer may keep us waiting, at the start and in each call.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// Between CPUs, over TCP. float32, float64, int32 and int64. The client must outlive it.
Result<std::unique_ptr<Communicator>> MakeGlooCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

// Between GPUs, on the device with the number of the local rank. All types. Calls block; work is
// ordered after what was queued on CUDA's default stream. kUnimplemented where this library was
// built without NCCL. The client must outlive it.
Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

// The same on the current device, in the order of `stream`, one of that device's, which must
// outlive it; null is CUDA's default stream.
Result<std::unique_ptr<NcclCommunicator>> MakeNcclStreamCommunicator(
    Client& client, CUstream_st* stream, CommunicatorOptions options = {});

}  // namespace autodist
