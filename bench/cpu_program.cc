#include "device.h"

namespace autodist::bench {

Result<std::unique_ptr<Device>> MakeDevice(v1::Backend backend, const Client&) {
  if (backend == v1::BACKEND_NCCL) {
    return Error(StatusCode::kUnimplemented, "this autodist-bench was built without NCCL");
  }
  return MakeCpuDevice();
}

}  // namespace autodist::bench
