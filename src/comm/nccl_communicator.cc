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

// Ranks make their communicators in the same order, so the number is the same on all of them.
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

// Non-blocking underneath: every wait is ours, with a deadline, and ends when NCCL reports that a
// peer has gone.
class NcclCommunicator final : public Communicator {
 public:
  explicit NcclCommunicator(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  ~NcclCommunicator() override {
    if (communicator_) {
      const ncclResult_t finalizing = ncclCommFinalize(communicator_);
      const Status finalized = Ended("finalize", AwaitNccl(finalizing, "finalize"));
      if (finalized.ok()) ncclCommDestroy(communicator_);
    }
    cudaFree(scratch_);
  }

  Status Connect(Client& client) {
    AD_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(static_cast<int>(client.local_rank())),
                                  "choosing the GPU of the local rank"));
    AD_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&scratch_, SizeOf(DataType::kInt32)), "cudaMalloc"));
    const std::string id_key = "nccl/" + std::to_string(++nccl_communicators_made) + "/unique-id";
    ncclUniqueId id;
    if (client.rank() == 0) {
      AD_RETURN_IF_ERROR(NcclStatus(ncclGetUniqueId(&id), "making NCCL's unique id"));
      AD_RETURN_IF_ERROR(client.Set(id_key, std::string(id.internal, sizeof id.internal)));
    } else {
      AD_ASSIGN_OR_RETURN(const std::string bytes, client.Get(id_key, timeout_));
      if (bytes.size() != sizeof id.internal) {
        return Error(StatusCode::kInternal, "NCCL's unique id has a wrong size");
      }
      bytes.copy(id.internal, sizeof id.internal);
    }
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result =
        ncclCommInitRankConfig(&communicator_, static_cast<int>(client.world_size()), id,
                               static_cast<int>(client.rank()), &config);
    return Ended("forming the ring", AwaitNccl(result, "forming the ring"));
  }

  Status AllReduce(void* data, size_t count, DataType type, ReduceOp op) override {
    return Run("all-reduce", [&] {
      return ncclAllReduce(data, data, count, NcclType(type), NcclOp(op), communicator_, kStream);
    });
  }
  Status Broadcast(void* data, size_t count, DataType type, uint32_t root) override {
    return Run("broadcast", [&] {
      return ncclBroadcast(data, data, count, NcclType(type), static_cast<int>(root), communicator_,
                           kStream);
    });
  }
  Status AllGather(const void* in, void* out, size_t count, DataType type) override {
    return Run("all-gather", [&] {
      return ncclAllGather(in, out, count, NcclType(type), communicator_, kStream);
    });
  }
  Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                       ReduceOp op) override {
    return Run("reduce-scatter", [&] {
      return ncclReduceScatter(in, out, count, NcclType(type), NcclOp(op), communicator_, kStream);
    });
  }
  Status Barrier() override { return AllReduce(scratch_, 1, DataType::kInt32, ReduceOp::kSum); }

 private:
  static constexpr cudaStream_t kStream = nullptr;  // CUDA's default stream

  Status NcclStatus(ncclResult_t result, const char* what) const {
    if (result == ncclSuccess || result == ncclInProgress) return OkStatus();
    return Error(StatusCode::kUnavailable, std::string(what) + ": " + ncclGetErrorString(result) +
                                               " (" + ncclGetLastError(communicator_) + ")");
  }

  // Until NCCL has done, on the host, what a call that gave `result` has begun.
  Status AwaitNccl(ncclResult_t result, const char* what) const {
    const Deadline deadline = Deadline::After(timeout_);
    AD_RETURN_IF_ERROR(NcclStatus(result, what));
    for (;;) {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &state);
      AD_RETURN_IF_ERROR(NcclStatus(asked != ncclSuccess ? asked : state, what));
      if (state == ncclSuccess) return OkStatus();
      AD_RETURN_IF_ERROR(CheckTime(deadline, what));
    }
  }

  // Until the device has done what is queued; it has no call that waits with a deadline.
  Status AwaitDevice(const char* what) const {
    const Deadline deadline = Deadline::After(timeout_);
    for (;;) {
      const cudaError_t state = cudaStreamQuery(kStream);
      if (state != cudaErrorNotReady) return CudaStatus(state, what);
      ncclResult_t asynchronous = ncclSuccess;
      const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &asynchronous);
      AD_RETURN_IF_ERROR(NcclStatus(asked != ncclSuccess ? asked : asynchronous, what));
      AD_RETURN_IF_ERROR(CheckTime(deadline, what));
    }
  }

  template <typename Call>
  Status Run(const char* what, Call call) {
    if (!communicator_) return Annotate(failure_, std::string(what) + ", after a failure");
    Status status = AwaitNccl(call(), what);
    if (status.ok()) status = AwaitDevice(what);
    return Ended(what, status);
  }

  // A communicator that failed is aborted at once: until then the device waits for the peer, and
  // whoever waits for the device, to free memory for instance, waits with it.
  Status Ended(const char* what, const Status& status) {
    if (status.ok() || !communicator_) return status;
    failure_ = status;
    const ncclResult_t aborted = ncclCommAbort(std::exchange(communicator_, nullptr));
    if (aborted == ncclSuccess || aborted == ncclInProgress) return status;
    return Annotate(status, std::string(what) + " could not be aborted");
  }

  static Status CheckTime(Deadline deadline, const char* what) {
    std::this_thread::yield();
    if (!deadline.Expired()) return OkStatus();
    return Error(StatusCode::kDeadlineExceeded,
                 std::string(what) + ": a peer did not take part in time");
  }

  const std::chrono::milliseconds timeout_;
  ncclComm_t communicator_ = nullptr;  // null once it has failed
  void* scratch_ = nullptr;            // on the device, for the barrier
  Status failure_;                     // why there is none
};

}  // namespace

Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client& client,
                                                           CommunicatorOptions options) {
  auto communicator = std::make_unique<NcclCommunicator>(options.timeout);
  AD_RETURN_IF_ERROR(communicator->Connect(client));
  return communicator;
}

}  // namespace autodist
