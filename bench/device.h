// Where a rank's data is while it is measured: in the host's memory or in its GPU's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "autodist/client.h"
#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"

namespace autodist::bench {

// Not thread-safe. It must outlive what it gives.
class Device {
 public:
  virtual ~Device() = default;

  // How many bytes this rank may take, given that others on its node take as many.
  virtual Result<uint64_t> FreeBytes(uint32_t ranks_on_node) = 0;

  // Numbers in the device's memory, at the communicator's disposal.
  class Buffer {
   public:
    virtual ~Buffer() = default;
    virtual float* data() = 0;
    // `values`, to or from the place that begins with number `at`.
    virtual Status Write(uint64_t at, std::span<const float> values) = 0;
    virtual Status Read(uint64_t at, std::span<float> values) = 0;
  };
  virtual Result<std::unique_ptr<Buffer>> Allocate(uint64_t count) = 0;

  // Its calls may be queued, see Communicator::Wait.
  virtual Result<std::unique_ptr<Communicator>> Connect(Client& client) = 0;
};

std::unique_ptr<Device> MakeCpuDevice();

// Each program's own: of one the host's memory, by Gloo; of the other the GPU of the local rank, by
// NCCL, and nothing of Gloo. kUnimplemented for what it is not made for.
Result<std::unique_ptr<Device>> MakeDevice(v1::Backend backend, const Client& client);

}  // namespace autodist::bench
