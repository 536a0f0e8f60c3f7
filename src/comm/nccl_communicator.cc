#include <cuda_runtime.h>
#include <nccl.h>

#include <atomic>
#include <thread>
#include <utility>

#include "autodist/communicator.h"
#include "base/deadline.h"

namespace autodist {
namespace {

using base::Deadline;

// Ranks create their communicators in the same order, so the number is the same on all of them.
std::atomic<int> nccl_communicators_made = 0;

Status CudaStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return OkStatus();
  return Error(StatusCode::kUnavailable, std::string(what) + ": " + cudaGetErrorString(error));
}

ncclDataType_t NcclType(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat64:
      return ncclFloat64;
    case DataType::kFloat16:
      return ncclFloat16;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kInt32:
      return ncclInt32;
    case DataType::kInt64:
      break;
  }
  return ncclInt64;
}

ncclRedOp_t NcclOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return ncclSum;
    case ReduceOp::kProduct:
      return ncclProd;
    case ReduceOp::kMin:
      return ncclMin;
    case ReduceOp::kMax:
      break;
  }
  return ncclMax;
}

// Uses NCCL's non-blocking mode: all waits are our own, have a deadline, and end when NCCL reports
// the loss of a peer.
class Nccl final : public NcclCommunicator {
 public:
  // With `blocks`, each call has completed when it returns.
  Nccl(cudaStream_t stream, bool blocks, std::chrono::milliseconds timeout)
      : stream_(stream), blocks_(blocks), timeout_(timeout) {}

  ~Nccl() override {
    if (comm_) {
      const ncclResult_t finalizing = ncclCommFinalize(comm_);
      const Status finalized = Ended("finalize", AwaitNccl(finalizing, "finalize"));
      if (finalized.ok()) ncclCommDestroy(comm_);
    }
    if (queued_) cudaEventDestroy(queued_);
    cudaFree(scratch_);
  }

  // On the current device.
  Status Connect(Client& client) {
    AD_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&scratch_, SizeOf(DataType::kInt32)), "cudaMalloc"));
    AD_RETURN_IF_ERROR(CudaStatus(cudaEventCreateWithFlags(&queued_, cudaEventDisableTiming),
                                  "making an event of CUDA's"));
    AD_ASSIGN_OR_RETURN(const ncclUniqueId id, UniqueId(client));
    world_size_ = client.world_size();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&comm_, static_cast<int>(world_size_), id,
                                                       static_cast<int>(client.rank()), &config);
    return Ended("forming the ring", AwaitNccl(result, "forming the ring"));
  }

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op) override {
    return Run("all-reduce", [&] {
      return ncclAllReduce(in, out, count, NcclType(type), NcclOp(op), comm_, stream_);
    });
  }
  Status Broadcast(const void* in, void* out, size_t count, DataType type, uint32_t root) override {
    return Run("broadcast", [&] {
      return ncclBroadcast(in, out, count, NcclType(type), static_cast<int>(root), comm_, stream_);
    });
  }
  Status AllGather(const void* in, void* out, size_t count, DataType type) override {
    return Run("all-gather",
               [&] { return ncclAllGather(in, out, count, NcclType(type), comm_, stream_); });
  }
  Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                       ReduceOp op) override {
    return Run("reduce-scatter", [&] {
      return ncclReduceScatter(in, out, count, NcclType(type), NcclOp(op), comm_, stream_);
    });
  }
  Status AllToAll(const void* in, void* out, size_t count, DataType type) override {
    const size_t part = count * SizeOf(type);
    return Run("all-to-all", [&] {
      return InGroup([&] {
        for (uint32_t peer = 0; peer < world_size_; ++peer) {
          const ncclResult_t result =
              Exchange(static_cast<const char*>(in) + part * peer, peer,
                       static_cast<char*>(out) + part * peer, peer, count, type);
          if (result != ncclSuccess) return result;
        }
        return ncclSuccess;
      });
    });
  }
  Status SendReceive(const void* in, uint32_t to, void* out, uint32_t from, size_t count,
                     DataType type) override {
    return Run("send and receive",
               [&] { return InGroup([&] { return Exchange(in, to, out, from, count, type); }); });
  }

  Status Barrier() override {
    const Status queued = Run("barrier", [&] {
      return ncclAllReduce(scratch_, scratch_, 1, ncclInt32, ncclSum, comm_, stream_);
    });
    return !queued.ok() || blocks_ ? queued : AwaitDevice("barrier", timeout_);
  }

  Status Wait(std::chrono::milliseconds timeout) override {
    if (!comm_) return AfterFailure("waiting for what is queued");
    return AwaitDevice("waiting for what is queued", timeout);
  }

  ncclComm_t comm() const override { return comm_; }
  cudaStream_t stream() const override { return stream_; }

 private:
  // Returns rank 0's id.
  Result<ncclUniqueId> UniqueId(Client& client) const {
    const std::string key = "nccl/" + std::to_string(++nccl_communicators_made) + "/unique-id";
    ncclUniqueId id;
    if (client.rank() == 0) {
      AD_RETURN_IF_ERROR(NcclStatus(ncclGetUniqueId(&id), "making NCCL's unique id"));
      AD_RETURN_IF_ERROR(client.Set(key, std::string(id.internal, sizeof id.internal)));
      return id;
    }
    AD_ASSIGN_OR_RETURN(const std::string bytes, client.Get(key, timeout_));
    if (bytes.size() != sizeof id.internal) {
      return Error(StatusCode::kInternal, "NCCL's unique id has a wrong size");
    }
    bytes.copy(id.internal, sizeof id.internal);
    return id;
  }

  // Starts the calls in `body` together: none waits for another.
  template <typename Body>
  static ncclResult_t InGroup(Body body) {
    const ncclResult_t started = ncclGroupStart();
    if (started != ncclSuccess) return started;
    const ncclResult_t called = body();
    const ncclResult_t ended = ncclGroupEnd();
    return called == ncclSuccess ? ended : called;
  }

  // Call in a group.
  ncclResult_t Exchange(const void* in, uint32_t to, void* out, uint32_t from, size_t count,
                        DataType type) const {
    const ncclResult_t sent =
        ncclSend(in, count, NcclType(type), static_cast<int>(to), comm_, stream_);
    if (sent != ncclSuccess) return sent;
    return ncclRecv(out, count, NcclType(type), static_cast<int>(from), comm_, stream_);
  }

  Status NcclStatus(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess || result == ncclInProgress) return OkStatus();
    return Error(StatusCode::kUnavailable, std::string(what) + ": " + ncclGetErrorString(result) +
                                               " (" + ncclGetLastError(comm_) + ")");
  }

  // Waits on the host until NCCL has completed the call that returned `result`.
  Status AwaitNccl(ncclResult_t result, const char* what) const {
    const Deadline deadline = Deadline::After(timeout_);
    AD_RETURN_IF_ERROR(NcclStatus(result, what));
    for (;;) {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
      AD_RETURN_IF_ERROR(NcclStatus(asked != ncclSuccess ? asked : state, what));
      if (state == ncclSuccess) return OkStatus();
      AD_RETURN_IF_ERROR(CheckTime(deadline, what));
    }
  }

  // Waits until the device has completed the stream's work; CUDA has no such call with a deadline.
  Status AwaitDevice(const char* what, std::chrono::milliseconds timeout) {
    return Ended(what, PollDevice(what, Deadline::After(timeout)));
  }
  Status PollDevice(const char* what, Deadline deadline) const {
    AD_RETURN_IF_ERROR(AwaitNccl(ncclSuccess, what));
    AD_RETURN_IF_ERROR(CudaStatus(cudaEventRecord(queued_, stream_), what));
    for (;;) {
      const cudaError_t state = cudaEventQuery(queued_);
      if (state != cudaErrorNotReady) return CudaStatus(state, what);
      ncclResult_t asynchronous = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(comm_, &asynchronous);
      AD_RETURN_IF_ERROR(NcclStatus(asked != ncclSuccess ? asked : asynchronous, what));
      AD_RETURN_IF_ERROR(CheckTime(deadline, what));
    }
  }

  // Returns when the work is in the stream. The program's NCCL calls on comm() must come before.
  template <typename Call>
  Status Run(const char* what, Call call) {
    if (!comm_) return AfterFailure(what);
    Status status = AwaitNccl(ncclSuccess, what);
    if (status.ok()) status = AwaitNccl(call(), what);
    if (!status.ok()) return Ended(what, status);
    return blocks_ ? AwaitDevice(what, timeout_) : status;
  }

  Status AfterFailure(const char* what) const {
    return Annotate(failure_, std::string(what) + ", after a failure");
  }

  // Aborts a failed communicator at once: until then the device waits for the peer, and so does
  // every call that waits for the device, for example to free memory.
  Status Ended(const char* what, const Status& status) {
    if (status.ok() || !comm_) return status;
    failure_ = status;
    const ncclResult_t aborted = ncclCommAbort(std::exchange(comm_, nullptr));
    if (aborted == ncclSuccess || aborted == ncclInProgress) return status;
    return Annotate(status, std::string(what) + " could not be aborted");
  }

  static Status CheckTime(Deadline deadline, const char* what) {
    std::this_thread::yield();
    if (!deadline.Expired()) return OkStatus();
    return Error(StatusCode::kDeadlineExceeded,
                 std::string(what) + ": a peer did not take part in time");
  }

  const cudaStream_t stream_;
  const bool blocks_;
  const std::chrono::milliseconds timeout_;
  uint32_t world_size_ = 0;
  ncclComm_t comm_ = nullptr;  // null after a failure
  Status failure_;             // why comm_ is null
  cudaEvent_t queued_ = nullptr;
  void* scratch_ = nullptr;  // on the device, for the barrier
};

Result<std::unique_ptr<NcclCommunicator>> Make(Client& client, cudaStream_t stream, bool blocks,
                                               const CommunicatorOptions& options) {
  auto made = std::make_unique<Nccl>(stream, blocks, options.timeout);
  AD_RETURN_IF_ERROR(made->Connect(client));
  return made;
}

}  // namespace

Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client& client,
                                                           CommunicatorOptions options) {
  AD_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(static_cast<int>(client.local_rank())),
                                "choosing the GPU of the local rank"));
  AD_ASSIGN_OR_RETURN(auto made, Make(client, /*stream=*/nullptr, /*blocks=*/true, options));
  return made;
}

Result<std::unique_ptr<NcclCommunicator>> MakeNcclStreamCommunicator(Client& client,
                                                                     cudaStream_t stream,
                                                                     CommunicatorOptions options) {
  return Make(client, stream, /*blocks=*/false, options);
}

}  // namespace autodist
