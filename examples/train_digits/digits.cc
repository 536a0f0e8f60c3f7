#include "digits.h"

#include <fstream>
#include <sstream>

namespace train_digits {

using autodist::Error;
using autodist::Result;
using autodist::StatusCode;

Result<Digits> ReadDigits(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error(StatusCode::kNotFound, "cannot read " + path);
  Digits digits;
  std::string line;
  for (size_t number = 0; std::getline(file, line); ++number) {
    constexpr size_t kTestEvery = 5;
    constexpr float kDarkest = 16;
    Samples& samples = number % kTestEvery == 0 ? digits.test : digits.training;
    std::istringstream fields(line);
    for (size_t i = 0; i <= kPixels; ++i) {
      int value = 0;
      char comma = 0;
      if (!(fields >> value) || (i < kPixels && !(fields >> comma))) {
        return Error(StatusCode::kInvalidArgument,
                     path + ":" + std::to_string(number + 1) + ": not 64 pixels and a digit");
      }
      if (i < kPixels) {
        samples.pixels.push_back(static_cast<float>(value) / kDarkest);
      } else {
        samples.labels.push_back(value);
      }
    }
  }
  return digits;
}

}  // namespace train_digits
