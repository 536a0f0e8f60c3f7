// The names that NVIDIA gives to devices besides their numbers.
#pragma once

#include <string_view>

namespace autodist::spec {

// "GPU-8932f937-d72c-...", or its beginning, which CUDA completes; "MIG-<uuid>", and of drivers
// before 470 "MIG-GPU-<uuid>/1/0". Source: CUDA C++ Programming Guide, CUDA_VISIBLE_DEVICES.
bool IsGpuUuid(std::string_view text);

}  // namespace autodist::spec
