// The memory of a rank's data during the measurement: the host's or the GPU's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"

namespace autodist::bench {

// Not thread-safe. It must outlive the objects that it creates.
class Device {
 public:
  virtual ~Device() = default;

  // Returns the number of bytes available to this rank, if all ranks on the node use the same
  // amount.
  virtual Result<uint64_t> FreeBytes(uint32_t ranks_on_node) = 0;

  // Numbers in the device's memory, usable by the communicator.
  class Buffer {
   public:
    virtual ~Buffer() = default;
    virtual float* data() = 0;
    // Copies `values` to or from the position of number `at`.
    virtual Status Write(uint64_t at, std::span<const float> values) = 0;
    virtual Status Read(uint64_t at, std::span<float> values) = 0;
  };
  virtual Result<std::unique_ptr<Buffer>> Allocate(uint64_t count) = 0;

  // Its calls may be queued, see Communicator::Wait.
  virtual Result<std::unique_ptr<Communicator>> Connect(Client& client) = 0;
};

std::unique_ptr<Device> MakeCpuDevice();

// Each program has its own: one uses the host's memory and Gloo (cpu_device.cc), the other the GPU
// of the local rank and NCCL, without Gloo (gpu_device.cc). kUnimplemented for the other backend.
Result<std::unique_ptr<Device>> MakeDevice(v1::Backend backend, const Client& client);

}  // namespace autodist::bench
