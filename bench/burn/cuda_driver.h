// NVIDIA's driver library, libcuda.so.1, loaded at run time: neither the build nor the node needs
// the CUDA toolkit. Source of the declarations: "CUDA Driver API", the parts that all versions from
// 10.0 on have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "autodist/status.h"

namespace autodist::burn {

// The library with one GPU, which is current on the thread that opened it. For that thread; calls
// block until the GPU has done the work. Failures are those of the driver: "cuMemAlloc: out of
// memory".
class CudaDevice {
 public:
  using Pointer = uint64_t;  // in the memory of the GPU
  struct Module;
  struct Function;

  // `ordinal`: in CUDA's numbering, after CUDA_VISIBLE_DEVICES.
  static Result<std::unique_ptr<CudaDevice>> Open(int ordinal);
  ~CudaDevice();

  const std::string& name() const { return name_; }
  int processors() const { return processors_; }  // streaming multiprocessors
  bool has_tensor_cores() const { return major_ >= 7; }

  // The driver compiles the PTX for the GPU.
  Result<Module*> Load(const char* ptx);
  Result<Function*> Find(Module* module, const char* name);

  Result<uint64_t> FreeBytes();
  // Freed with the device.
  Result<Pointer> Allocate(uint64_t bytes);
  Result<void*> AllocateOnHost(uint64_t bytes);

  // `arguments`: the addresses of the kernel's parameters.
  Status Launch(Function* kernel, uint32_t blocks, uint32_t threads, void** arguments);
  Status Copy(Pointer to, Pointer from, uint64_t bytes);
  Status CopyToDevice(Pointer to, const void* from, uint64_t bytes);
  Status CopyFromDevice(void* to, Pointer from, uint64_t bytes);

 private:
  struct Library;
  explicit CudaDevice(std::unique_ptr<Library> library);

  const std::unique_ptr<Library> library_;
  std::string name_;
  int device_ = -1;  // -1: not opened
  int processors_ = 0;
  int major_ = 0;  // of the compute capability
};

}  // namespace autodist::burn
