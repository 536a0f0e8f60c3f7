#include <cuda_runtime.h>

#include <cstdlib>

#include "device.h"

namespace autodist::bench {
namespace {

Status CudaStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return OkStatus();
  return Error(StatusCode::kUnavailable, std::string(what) + ": " + cudaGetErrorString(error));
}

class GpuBuffer final : public Device::Buffer {
 public:
  explicit GpuBuffer(float* memory) : memory_(memory) {}
  ~GpuBuffer() override { cudaFree(memory_); }
  float* data() override { return memory_; }
  Status Write(uint64_t at, std::span<const float> values) override {
    return CudaStatus(
        cudaMemcpy(memory_ + at, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
        "copying to the GPU");
  }
  Status Read(uint64_t at, std::span<float> values) override {
    return CudaStatus(
        cudaMemcpy(values.data(), memory_ + at, values.size_bytes(), cudaMemcpyDeviceToHost),
        "copying from the GPU");
  }

 private:
  float* const memory_;
};

// Uses the current device; for the thread that selected it.
class GpuDevice final : public Device {
 public:
  GpuDevice() = default;
  ~GpuDevice() override {
    if (stream_) cudaStreamDestroy(stream_);
  }
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  Status MakeStream() { return CudaStatus(cudaStreamCreate(&stream_), "making a stream"); }

  Result<uint64_t> FreeBytes(uint32_t /*ranks_on_node*/) override {
    size_t free = 0;
    size_t total = 0;
    AD_RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free, &total), "asking for free memory"));
    return free / 2;
  }

  Result<std::unique_ptr<Buffer>> Allocate(uint64_t count) override {
    float* memory = nullptr;
    AD_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&memory, count * sizeof(float)), "cudaMalloc"));
    return std::make_unique<GpuBuffer>(memory);
  }

  Result<std::unique_ptr<Communicator>> Connect(Client& client) override {
    AD_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> made,
                        MakeNcclStreamCommunicator(client, stream_));
    return made;
  }

 private:
  cudaStream_t stream_ = nullptr;  // ordered with copies, which use the default stream
};

}  // namespace

Result<std::unique_ptr<Device>> MakeDevice(v1::Backend backend, const Client& client) {
  if (backend != v1::BACKEND_NCCL) {
    return Error(StatusCode::kUnimplemented, "this autodist-bench is for NCCL");
  }
  AD_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(static_cast<int>(client.local_rank())),
                                "choosing the GPU of the local rank"));
  // As in nccl-tests: a non-blocking communicator starts a thread for each call.
  setenv("NCCL_COMM_BLOCKING", "1", /*overwrite=*/0);
  auto device = std::make_unique<GpuDevice>();
  AD_RETURN_IF_ERROR(device->MakeStream());
  return device;
}

}  // namespace autodist::bench
