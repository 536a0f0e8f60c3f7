#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "device.h"

namespace autodist::bench {
namespace {

// The fraction of the free memory to use: 1/4. Virtual hosts share the machine's memory.
constexpr uint64_t kShare = 4;

class HostBuffer final : public Device::Buffer {
 public:
  explicit HostBuffer(uint64_t count) : values_(count) {}
  float* data() override { return values_.data(); }
  Status Write(uint64_t at, std::span<const float> values) override {
    std::ranges::copy(values, values_.data() + at);
    return OkStatus();
  }
  Status Read(uint64_t at, std::span<float> values) override {
    std::copy_n(values_.data() + at, values.size(), values.data());
    return OkStatus();
  }

 private:
  std::vector<float> values_;
};

class CpuDevice final : public Device {
 public:
  Result<uint64_t> FreeBytes(uint32_t ranks_on_node) override {
    std::ifstream file("/proc/meminfo");
    std::string name;
    uint64_t kilobytes = 0;
    while (file >> name >> kilobytes) {
      if (name == "MemAvailable:") return kilobytes * 1024 / kShare / ranks_on_node;
      std::getline(file, name);
    }
    return Error(StatusCode::kInternal, "/proc/meminfo does not report the free memory");
  }

  Result<std::unique_ptr<Buffer>> Allocate(uint64_t count) override {
    try {
      return std::make_unique<HostBuffer>(count);
    } catch (const std::bad_alloc&) {
      return Error(StatusCode::kResourceExhausted,
                   "no memory for " + std::to_string(count) + " numbers");
    }
  }

  Result<std::unique_ptr<Communicator>> Connect(Client& client) override {
    return MakeGlooCommunicator(client);
  }
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice() { return std::make_unique<CpuDevice>(); }

Result<std::unique_ptr<Device>> MakeDevice(v1::Backend backend, const Client&) {
  if (backend == v1::BACKEND_NCCL) {
    return Error(StatusCode::kUnimplemented, "this autodist-bench was built without NCCL");
  }
  return MakeCpuDevice();
}

}  // namespace autodist::bench
