#include <cuda_runtime.h>

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

// The communicator chooses the GPU; both are used by the same thread.
class GpuDevice final : public Device {
 public:
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
    return MakeNcclCommunicator(client);
  }
};

}  // namespace

Result<std::unique_ptr<Device>> MakeGpuDevice(const Client& client) {
  AD_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(static_cast<int>(client.local_rank())),
                                "choosing the GPU of the local rank"));
  return std::make_unique<GpuDevice>();
}

}  // namespace autodist::bench
