#include "cuda_driver.h"

#include <dlfcn.h>

namespace autodist::burn {
namespace {

constexpr int kProcessors = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kMajor = 75;       // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr size_t kMaxName = 256;

}  // namespace

struct CudaDevice::Library {
  void* handle = nullptr;
  int (*init)(unsigned flags) = nullptr;
  int (*error_string)(int error, const char** text) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*device_name)(char* name, int length, int device) = nullptr;
  int (*device_attribute)(int* value, int attribute, int device) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*release)(int device) = nullptr;
  int (*set_current)(void* context) = nullptr;
  int (*synchronize)() = nullptr;
  int (*load)(void** module, const void* image) = nullptr;
  int (*find)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** arguments, void** extra) = nullptr;
  int (*memory_info)(size_t* free, size_t* total) = nullptr;
  int (*allocate)(Pointer* memory, size_t bytes) = nullptr;
  int (*allocate_on_host)(void** memory, size_t bytes) = nullptr;
  int (*copy)(Pointer to, Pointer from, size_t bytes) = nullptr;
  int (*copy_to_device)(Pointer to, const void* from, size_t bytes) = nullptr;
  int (*copy_from_device)(void* to, Pointer from, size_t bytes) = nullptr;

  // Returns the first function that is missing; "": none is.
  std::string Bind() {
    std::string missing;
    const auto bind = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
      if (!function && missing.empty()) missing = name;
    };
    bind(init, "cuInit");
    bind(error_string, "cuGetErrorString");
    bind(device_get, "cuDeviceGet");
    bind(device_name, "cuDeviceGetName");
    bind(device_attribute, "cuDeviceGetAttribute");
    bind(retain, "cuDevicePrimaryCtxRetain");
    bind(release, "cuDevicePrimaryCtxRelease");
    bind(set_current, "cuCtxSetCurrent");
    bind(synchronize, "cuCtxSynchronize");
    bind(load, "cuModuleLoadData");
    bind(find, "cuModuleGetFunction");
    bind(launch, "cuLaunchKernel");
    bind(memory_info, "cuMemGetInfo_v2");
    bind(allocate, "cuMemAlloc_v2");
    bind(allocate_on_host, "cuMemAllocHost_v2");
    bind(copy, "cuMemcpyDtoD_v2");
    bind(copy_to_device, "cuMemcpyHtoD_v2");
    bind(copy_from_device, "cuMemcpyDtoH_v2");
    return missing;
  }

  Status Check(int error, const char* what) const {
    if (error == 0) return OkStatus();
    const char* text = nullptr;
    if (error_string(error, &text) != 0 || !text) text = "unknown error";
    return Error(StatusCode::kUnavailable,
                 std::string(what) + ": " + text + " (" + std::to_string(error) + ")");
  }
};

CudaDevice::CudaDevice(std::unique_ptr<Library> library) : library_(std::move(library)) {}

// Memory and modules end with the context. The library stays loaded: it has threads.
CudaDevice::~CudaDevice() {
  if (device_ >= 0) library_->release(device_);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open(int ordinal) {
  auto library = std::make_unique<Library>();
  library->handle = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library->handle) {
    const char* const why = dlerror();
    return WithRemedy(Error(StatusCode::kNotFound, why ? why : "libcuda.so.1 cannot be loaded"),
                      "install NVIDIA's driver, or name the folder of libcuda.so.1 in "
                      "LD_LIBRARY_PATH by shared_envs");
  }
  if (const std::string missing = library->Bind(); !missing.empty()) {
    return Error(StatusCode::kUnimplemented, "the NVIDIA driver is too old: no " + missing);
  }
  std::unique_ptr<CudaDevice> opened(new CudaDevice(std::move(library)));
  const Library& cuda = *opened->library_;
  AD_RETURN_IF_ERROR(cuda.Check(cuda.init(0), "cuInit"));
  int device = 0;
  AD_RETURN_IF_ERROR(cuda.Check(cuda.device_get(&device, ordinal), "cuDeviceGet"));
  char name[kMaxName] = "";
  AD_RETURN_IF_ERROR(cuda.Check(cuda.device_name(name, sizeof name, device), "cuDeviceGetName"));
  opened->name_ = name;
  for (const auto& [attribute, value] :
       {std::pair{kProcessors, &opened->processors_}, std::pair{kMajor, &opened->major_}}) {
    AD_RETURN_IF_ERROR(
        cuda.Check(cuda.device_attribute(value, attribute, device), "cuDeviceGetAttribute"));
  }
  void* context = nullptr;
  AD_RETURN_IF_ERROR(cuda.Check(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain"));
  opened->device_ = device;
  AD_RETURN_IF_ERROR(cuda.Check(cuda.set_current(context), "cuCtxSetCurrent"));
  return opened;
}

Result<CudaDevice::Module*> CudaDevice::Load(const char* ptx) {
  void* module = nullptr;
  AD_RETURN_IF_ERROR(library_->Check(library_->load(&module, ptx), "cuModuleLoadData"));
  return static_cast<Module*>(module);
}

Result<CudaDevice::Function*> CudaDevice::Find(Module* module, const char* name) {
  void* function = nullptr;
  AD_RETURN_IF_ERROR(
      library_->Check(library_->find(&function, module, name), "cuModuleGetFunction"));
  return static_cast<Function*>(function);
}

Result<uint64_t> CudaDevice::FreeBytes() {
  size_t free = 0;
  size_t total = 0;
  AD_RETURN_IF_ERROR(library_->Check(library_->memory_info(&free, &total), "cuMemGetInfo"));
  return free;
}

Result<CudaDevice::Pointer> CudaDevice::Allocate(uint64_t bytes) {
  Pointer memory = 0;
  AD_RETURN_IF_ERROR(library_->Check(library_->allocate(&memory, bytes), "cuMemAlloc"));
  return memory;
}

Result<void*> CudaDevice::AllocateOnHost(uint64_t bytes) {
  void* memory = nullptr;
  AD_RETURN_IF_ERROR(library_->Check(library_->allocate_on_host(&memory, bytes), "cuMemAllocHost"));
  return memory;
}

Status CudaDevice::Launch(Function* kernel, uint32_t blocks, uint32_t threads, void** arguments) {
  AD_RETURN_IF_ERROR(library_->Check(
      library_->launch(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr),
      "cuLaunchKernel"));
  return library_->Check(library_->synchronize(), "running a kernel");
}

Status CudaDevice::Copy(Pointer to, Pointer from, uint64_t bytes) {
  AD_RETURN_IF_ERROR(library_->Check(library_->copy(to, from, bytes), "cuMemcpyDtoD"));
  return library_->Check(library_->synchronize(), "copying memory of the GPU");
}

Status CudaDevice::CopyToDevice(Pointer to, const void* from, uint64_t bytes) {
  AD_RETURN_IF_ERROR(library_->Check(library_->copy_to_device(to, from, bytes), "cuMemcpyHtoD"));
  return library_->Check(library_->synchronize(), "copying to the GPU");
}

Status CudaDevice::CopyFromDevice(void* to, Pointer from, uint64_t bytes) {
  return library_->Check(library_->copy_from_device(to, from, bytes), "cuMemcpyDtoH");
}

}  // namespace autodist::burn
