// Reads the handwritten digits, split into training and test samples.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace train_digits {

inline constexpr size_t kPixels = 64;
inline constexpr size_t kClasses = 10;

struct Samples {
  std::vector<float> pixels;  // kPixels for each sample, from 0 to 1
  std::vector<int> labels;    // 0..9
  size_t count() const { return labels.size(); }
};

struct Digits {
  Samples training;
  Samples test;  // every fifth sample
};

autodist::Result<Digits> ReadDigits(const std::string& path);

}  // namespace train_digits
