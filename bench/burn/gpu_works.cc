#include "gpu_works.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"

namespace autodist::burn {

std::span<const base::EmbeddedFile> Kernels();  // the files *.ptx

namespace {

using Pointer = CudaDevice::Pointer;

constexpr uint32_t kThreads = 256;  // of a block
constexpr uint64_t kMebi = 1 << 20;

Result<CudaDevice::Module*> LoadKernels(CudaDevice& gpu, std::string_view name) {
  const auto files = Kernels();
  const auto file = std::ranges::find(files, name, &base::EmbeddedFile::name);
  return gpu.Load(std::string(file->content).c_str());
}

class Arithmetic {
 public:
  static Result<Work> Make(CudaDevice& gpu, CudaDevice::Module* kernels) {
    auto work = std::make_shared<Arithmetic>(gpu);
    AD_ASSIGN_OR_RETURN(work->kernel_, gpu.Find(kernels, "fp32"));
    work->sums_.resize(uint64_t{work->blocks_} * kThreads * kSums);
    AD_ASSIGN_OR_RETURN(work->out_, gpu.Allocate(work->sums_.size() * sizeof(float)));
    return Work{Kind::kArithmetic, false, [work] { return work->Run(); }};
  }
  explicit Arithmetic(CudaDevice& gpu)
      : gpu_(gpu), blocks_(static_cast<uint32_t>(gpu.processors()) * kBlocksPerProcessor) {}

  Result<Piece> Run() {
    uint32_t rounds = kRounds;
    void* arguments[] = {&out_, &rounds};
    Piece piece;
    piece.amount = 2.0 * static_cast<double>(sums_.size()) * rounds;
    Status status;
    piece.time = TimeOf([&] { status = gpu_.Launch(kernel_, blocks_, kThreads, arguments); });
    AD_RETURN_IF_ERROR(status);
    AD_RETURN_IF_ERROR(gpu_.CopyFromDevice(sums_.data(), out_, sums_.size() * sizeof(float)));
    for (size_t i = 0; i < sums_.size(); ++i) {
      const size_t x = 1 + i / kSums % 3;
      const size_t y = 1 + i % kSums;
      piece.wrong += sums_[i] != static_cast<float>(x * y * rounds);
    }
    return piece;
  }

 private:
  static constexpr size_t kSums = 8;  // of a thread
  static constexpr uint32_t kBlocksPerProcessor = 4;
  static constexpr uint32_t kRounds = 500'000;  // sums up to 24 per round, below 2^24

  CudaDevice& gpu_;
  const uint32_t blocks_;
  CudaDevice::Function* kernel_ = nullptr;
  Pointer out_ = 0;
  std::vector<float> sums_;
};

// On tensor cores.
class MatrixProduct {
 public:
  static Result<Work> Make(CudaDevice& gpu) {
    auto work = std::make_shared<MatrixProduct>(gpu);
    AD_ASSIGN_OR_RETURN(CudaDevice::Module* const kernels, LoadKernels(gpu, "tensor_kernel.ptx"));
    AD_ASSIGN_OR_RETURN(work->kernel_, gpu.Find(kernels, "tensor"));
    AD_RETURN_IF_ERROR(work->MakeFactors());
    work->sums_.resize(uint64_t{work->blocks_} * kWarps * kSums * kElements);
    AD_ASSIGN_OR_RETURN(work->out_, gpu.Allocate(work->sums_.size() * sizeof(float)));
    return Work{Kind::kMatrix, false, [work] { return work->Run(); }};
  }
  explicit MatrixProduct(CudaDevice& gpu)
      : gpu_(gpu), blocks_(static_cast<uint32_t>(gpu.processors()) * kBlocksPerProcessor) {}

  Result<Piece> Run() {
    uint32_t rounds = kRounds;
    void* arguments[] = {&a_, &b_, &out_, &rounds};
    Piece piece;
    piece.amount = 2.0 * kSide * static_cast<double>(sums_.size()) * rounds;
    Status status;
    piece.time = TimeOf([&] { status = gpu_.Launch(kernel_, blocks_, kThreads, arguments); });
    AD_RETURN_IF_ERROR(status);
    AD_RETURN_IF_ERROR(gpu_.CopyFromDevice(sums_.data(), out_, sums_.size() * sizeof(float)));
    for (size_t i = 0; i < sums_.size(); ++i) {
      const size_t warp = i / (kSums * kElements);
      const float product = products_[warp % kPairs][i % kElements];
      piece.wrong += sums_[i] != product * static_cast<float>(rounds);
    }
    return piece;
  }

 private:
  static constexpr size_t kSide = 16;
  static constexpr size_t kElements = kSide * kSide;
  static constexpr size_t kPairs = 16;  // of factors
  static constexpr size_t kWarps = kThreads / 32;
  static constexpr size_t kSums = 4;  // of a warp
  static constexpr uint32_t kBlocksPerProcessor = 2;
  static constexpr uint32_t kRounds = 200'000;  // elements of products are 64 at most

  // -2 to 2, in half precision.
  static uint16_t AsHalf(int number) {
    constexpr std::array<uint16_t, 5> kHalves = {0xC000, 0xBC00, 0, 0x3C00, 0x4000};
    return kHalves[static_cast<size_t>(number) + 2];
  }
  static int ElementA(size_t pair, size_t row, size_t column) {
    return static_cast<int>((pair * 3 + row * 7 + column * 2) % 5) - 2;
  }
  static int ElementB(size_t pair, size_t row, size_t column) {
    return static_cast<int>((pair + row * 3 + column * 4 + row * column) % 5) - 2;
  }

  Status MakeFactors() {
    std::vector<uint16_t> a;  // by rows
    std::vector<uint16_t> b;  // by columns
    for (size_t pair = 0; pair < kPairs; ++pair) {
      for (size_t i = 0; i < kSide; ++i) {
        for (size_t j = 0; j < kSide; ++j) {
          a.push_back(AsHalf(ElementA(pair, i, j)));
          b.push_back(AsHalf(ElementB(pair, j, i)));
          int sum = 0;
          for (size_t k = 0; k < kSide; ++k) sum += ElementA(pair, i, k) * ElementB(pair, k, j);
          products_[pair][i * kSide + j] = static_cast<float>(sum);
        }
      }
    }
    const uint64_t bytes = a.size() * sizeof(uint16_t);
    AD_ASSIGN_OR_RETURN(a_, gpu_.Allocate(bytes));
    AD_ASSIGN_OR_RETURN(b_, gpu_.Allocate(bytes));
    AD_RETURN_IF_ERROR(gpu_.CopyToDevice(a_, a.data(), bytes));
    return gpu_.CopyToDevice(b_, b.data(), bytes);
  }

  CudaDevice& gpu_;
  const uint32_t blocks_;
  CudaDevice::Function* kernel_ = nullptr;
  Pointer a_ = 0;
  Pointer b_ = 0;
  Pointer out_ = 0;
  std::array<std::array<float, kElements>, kPairs> products_{};
  std::vector<float> sums_;
};

// Two halves of memory, which the kernels fill and compare.
class Memory {
 public:
  static Result<std::shared_ptr<Memory>> Make(CudaDevice& gpu, CudaDevice::Module* kernels) {
    auto memory = std::make_shared<Memory>(gpu);
    AD_ASSIGN_OR_RETURN(memory->fill_, gpu.Find(kernels, "fill"));
    AD_ASSIGN_OR_RETURN(memory->count_wrong_, gpu.Find(kernels, "count_wrong"));
    AD_ASSIGN_OR_RETURN(const uint64_t free, gpu.FreeBytes());
    memory->bytes_ = std::min(free / 4, kMaxBytes) / kMebi * kMebi;
    AD_ASSIGN_OR_RETURN(memory->from_, gpu.Allocate(memory->bytes_));
    AD_ASSIGN_OR_RETURN(memory->to_, gpu.Allocate(memory->bytes_));
    AD_ASSIGN_OR_RETURN(memory->wrong_, gpu.Allocate(sizeof(uint32_t)));
    AD_ASSIGN_OR_RETURN(memory->on_host_, gpu.AllocateOnHost(kHostBytes));
    return memory;
  }
  explicit Memory(CudaDevice& gpu)
      : gpu_(gpu), blocks_(static_cast<uint32_t>(gpu.processors()) * kBlocksPerProcessor) {}

  Result<Piece> CopyWithin() {
    AD_RETURN_IF_ERROR(Fill(from_, bytes_));
    Piece piece;
    piece.amount = 2.0 * static_cast<double>(bytes_) * kCopies;
    Status status;
    piece.time = TimeOf([&] {
      for (int i = 0; i < kCopies && status.ok(); ++i) status = gpu_.Copy(to_, from_, bytes_);
    });
    AD_RETURN_IF_ERROR(status);
    AD_ASSIGN_OR_RETURN(piece.wrong, WrongIn(to_, bytes_));
    return piece;
  }

  Result<Piece> CopyFromDevice() {
    const uint64_t bytes = std::min(kHostBytes, bytes_);
    AD_RETURN_IF_ERROR(Fill(from_, bytes));
    Piece piece;
    piece.amount = static_cast<double>(bytes);
    Status status;
    piece.time = TimeOf([&] { status = gpu_.CopyFromDevice(on_host_, from_, bytes); });
    AD_RETURN_IF_ERROR(status);
    const auto* const words = static_cast<const uint32_t*>(on_host_);
    for (uint32_t i = 0; i < bytes / sizeof(uint32_t); ++i) piece.wrong += words[i] != i * odd_;
    return piece;
  }

  // What the copy from the device has left on the host.
  Result<Piece> CopyToDevice() {
    const uint64_t bytes = std::min(kHostBytes, bytes_);
    auto* const words = static_cast<uint32_t*>(on_host_);
    odd_ += 2;
    for (uint32_t i = 0; i < bytes / sizeof(uint32_t); ++i) words[i] = i * odd_;
    Piece piece;
    piece.amount = static_cast<double>(bytes);
    Status status;
    piece.time = TimeOf([&] { status = gpu_.CopyToDevice(to_, on_host_, bytes); });
    AD_RETURN_IF_ERROR(status);
    AD_ASSIGN_OR_RETURN(piece.wrong, WrongIn(to_, bytes));
    return piece;
  }

 private:
  static constexpr uint64_t kMaxBytes = 4096 * kMebi;
  static constexpr uint64_t kHostBytes = 64 * kMebi;
  static constexpr int kCopies = 8;
  static constexpr uint32_t kBlocksPerProcessor = 8;

  Status Fill(Pointer memory, uint64_t bytes) {
    odd_ += 2;
    uint64_t words = bytes / sizeof(uint32_t);
    void* arguments[] = {&memory, &words, &odd_};
    return gpu_.Launch(fill_, blocks_, kThreads, arguments);
  }

  Result<uint64_t> WrongIn(Pointer memory, uint64_t bytes) {
    uint32_t wrong = 0;
    AD_RETURN_IF_ERROR(gpu_.CopyToDevice(wrong_, &wrong, sizeof wrong));
    uint64_t words = bytes / sizeof(uint32_t);
    void* arguments[] = {&memory, &words, &odd_, &wrong_};
    AD_RETURN_IF_ERROR(gpu_.Launch(count_wrong_, blocks_, kThreads, arguments));
    AD_RETURN_IF_ERROR(gpu_.CopyFromDevice(&wrong, wrong_, sizeof wrong));
    return uint64_t{wrong};
  }

  CudaDevice& gpu_;
  const uint32_t blocks_;
  CudaDevice::Function* fill_ = nullptr;
  CudaDevice::Function* count_wrong_ = nullptr;
  uint64_t bytes_ = 0;  // of each half
  Pointer from_ = 0;
  Pointer to_ = 0;
  Pointer wrong_ = 0;
  void* on_host_ = nullptr;
  uint32_t odd_ = 0x9E3779B1;  // makes each pattern another one
};

}  // namespace

Result<std::vector<Work>> GpuWorks(CudaDevice& gpu) {
  AD_ASSIGN_OR_RETURN(CudaDevice::Module* const kernels, LoadKernels(gpu, "kernels.ptx"));
  std::vector<Work> works;
  if (gpu.has_tensor_cores()) {
    AD_ASSIGN_OR_RETURN(Work product, MatrixProduct::Make(gpu));
    works.push_back(std::move(product));
  }
  AD_ASSIGN_OR_RETURN(Work arithmetic, Arithmetic::Make(gpu, kernels));
  works.push_back(std::move(arithmetic));
  AD_ASSIGN_OR_RETURN(const auto memory, Memory::Make(gpu, kernels));
  works.push_back({Kind::kMemory, false, [memory] { return memory->CopyWithin(); }});
  works.push_back({Kind::kFromDevice, false, [memory] { return memory->CopyFromDevice(); }});
  works.push_back({Kind::kToDevice, false, [memory] { return memory->CopyToDevice(); }});
  return works;
}

}  // namespace autodist::burn
