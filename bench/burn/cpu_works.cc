#include "cpu_works.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

namespace autodist::burn {
namespace {

// The elements are whole numbers so small that floats hold all sums exactly.
class Matrices {
 public:
  Matrices() : a_(kSize * kSize), b_(kSize * kSize), product_(kSize * kSize) {
    for (size_t row = 0; row < kSize; ++row) {
      for (size_t column = 0; column < kSize; ++column) {
        a_[row * kSize + column] = ElementA(row, column);
        b_[row * kSize + column] = ElementB(row, column);
      }
    }
  }

  Result<Piece> Multiply() {
    constexpr size_t kColumns = kSize;
    Piece piece;
    piece.amount = 2.0 * kSize * kSize * kSize;
    piece.time = CpuTimeOf([this] {
      std::ranges::fill(product_, 0.0F);
      for (size_t row = 0; row < kSize; ++row) {
        float* const sums = &product_[row * kColumns];
        for (size_t k = 0; k < kSize; ++k) {
          const float factor = a_[row * kSize + k];
          const float* const values = &b_[k * kColumns];
          for (size_t column = 0; column < kColumns; ++column)
            sums[column] += factor * values[column];
        }
      }
    });
    // All results of the first piece are right if they repeat and one row is right.
    if (expected_.empty()) {
      expected_ = product_;
      for (size_t column = 0; column < kColumns; ++column) {
        float sum = 0;
        for (size_t k = 0; k < kSize; ++k) sum += ElementA(0, k) * ElementB(k, column);
        piece.wrong += product_[column] != sum;
      }
    }
    for (size_t i = 0; i < product_.size(); ++i) piece.wrong += product_[i] != expected_[i];
    return piece;
  }

 private:
  static constexpr size_t kSize = 256;  // rows and columns

  static float ElementA(size_t row, size_t column) {
    return static_cast<float>((row * 7 + column * 3) % 5) - 2;
  }
  static float ElementB(size_t row, size_t column) {
    return static_cast<float>((row * 5 + column * 11) % 7) - 3;
  }

  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> product_;
  std::vector<float> expected_;  // of the first piece
};

class Copy {
 public:
  Copy() : from_(kWords), to_(kWords) {}

  Result<Piece> Run() {
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
    ++round_;
    for (size_t i = 0; i < kWords; ++i) from_[i] = (i + round_) * kOdd;
    Piece piece;
    piece.amount = 2.0 * kWords * sizeof(uint64_t);
    piece.time =
        CpuTimeOf([this] { std::memcpy(to_.data(), from_.data(), kWords * sizeof(uint64_t)); });
    for (size_t i = 0; i < kWords; ++i) piece.wrong += to_[i] != (i + round_) * kOdd;
    return piece;
  }

 private:
  static constexpr size_t kWords = (32 << 20) / sizeof(uint64_t);

  std::vector<uint64_t> from_;
  std::vector<uint64_t> to_;
  uint64_t round_ = 0;
};

}  // namespace

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    constexpr std::string_view kName = "model name";
    const size_t colon = line.find(": ");
    if (line.starts_with(kName) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::vector<Work> CpuWorks() {
  const auto matrices = std::make_shared<Matrices>();
  const auto copy = std::make_shared<Copy>();
  return {{Kind::kMatrix, true, [matrices] { return matrices->Multiply(); }},
          {Kind::kHostMemory, true, [copy] { return copy->Run(); }}};
}

}  // namespace autodist::burn
