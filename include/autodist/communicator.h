// Collective operations over all ranks of a job.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "autodist/client.h"
#include "autodist/status.h"

namespace autodist {

enum class DataType { kFloat32, kFloat64, kFloat16, kBfloat16, kInt32, kInt64 };
enum class ReduceOp { kSum, kProduct, kMin, kMax };

// Bytes per element.
size_t SizeOf(DataType type);

// Every rank must make the same calls in the same order, from one thread at a time. Each call
// blocks until this rank's part is done, and fails when a peer is gone or does not take part in
// time. After a failure all calls fail; docs/worker_library.md says what a failure looks like.
// To be destroyed before the process ends: without that, peers take this rank for lost, and what
// they have not yet finished fails.
// Counts are in elements. Pointers are to host memory for Gloo, to device memory for NCCL.
class Communicator {
 public:
  virtual ~Communicator() = default;

  // data[i] = op over all ranks of data[i]; the result is the same, bit for bit, on every rank.
  virtual Status AllReduce(void* data, size_t count, DataType type, ReduceOp op) = 0;

  // data = root's data.
  virtual Status Broadcast(void* data, size_t count, DataType type, uint32_t root) = 0;

  // out = the in of rank 0, of rank 1, ...; in has `count` elements, out world size times as many.
  virtual Status AllGather(const void* in, void* out, size_t count, DataType type) = 0;

  // out = this rank's part of op over all ranks of in; out has `count` elements, in world size
  // times as many. in and out must not overlap.
  virtual Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                               ReduceOp op) = 0;

  // Returns when all ranks have called it.
  virtual Status Barrier() = 0;
};

struct CommunicatorOptions {
  // How long a peer may keep us waiting, at the start and in each call.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

// Between CPUs, over TCP. float32, float64, int32 and int64. The client must outlive it.
Result<std::unique_ptr<Communicator>> MakeGlooCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

// Between GPUs, on the device with the number of the local rank. All types. Work is ordered
// after what was queued on CUDA's default stream. kUnimplemented where this library was built
// without NCCL. The client must outlive it.
Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client& client,
                                                           CommunicatorOptions options = {});

}  // namespace autodist
