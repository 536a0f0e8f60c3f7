#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "network.h"

namespace train_digits {
namespace {

struct Activations {
  std::array<float, kHidden> hidden;
  std::array<float, kClasses> probability;
};

Activations Forward(const float* parameters, const float* pixels) {
  const float* hidden_weights = parameters;
  const float* hidden_biases = hidden_weights + kHiddenWeights;
  const float* output_weights = hidden_biases + kHidden;
  const float* output_biases = output_weights + kOutputWeights;
  Activations result;
  for (size_t h = 0; h < kHidden; ++h) {
    float sum = hidden_biases[h];
    for (size_t p = 0; p < kPixels; ++p) sum += hidden_weights[h * kPixels + p] * pixels[p];
    result.hidden[h] = std::max(sum, 0.0f);
  }
  for (size_t c = 0; c < kClasses; ++c) {
    float sum = output_biases[c];
    for (size_t h = 0; h < kHidden; ++h) sum += output_weights[c * kHidden + h] * result.hidden[h];
    result.probability[c] = sum;
  }
  // Softmax, shifted to avoid overflow.
  const float largest = *std::max_element(result.probability.begin(), result.probability.end());
  float total = 0;
  for (float& value : result.probability) total += value = std::exp(value - largest);
  for (float& value : result.probability) value /= total;
  return result;
}

class CpuNetwork final : public Network {
 public:
  explicit CpuNetwork(const Samples& training) : training_(training) {}

  float* parameters() override { return parameters_.data(); }
  float* gradients() override { return gradients_.data(); }

  autodist::Status ComputeGradients(const std::vector<uint32_t>& samples) override {
    std::fill(gradients_.begin(), gradients_.end(), 0.0f);
    for (const uint32_t sample : samples) AddSample(sample);
    return autodist::OkStatus();
  }

  autodist::Status Step(float batch_size, float learning_rate, float momentum) override {
    for (size_t i = 0; i < kParameters; ++i) {
      velocity_[i] = momentum * velocity_[i] - learning_rate * gradients_[i] / batch_size;
      parameters_[i] += velocity_[i];
    }
    return autodist::OkStatus();
  }

  autodist::Status SetParameters(const std::vector<float>& parameters) override {
    parameters_ = parameters;
    return autodist::OkStatus();
  }
  autodist::Result<std::vector<float>> Parameters() override { return parameters_; }
  autodist::Result<float> Loss() override { return gradients_[kParameters]; }

 private:
  void AddSample(uint32_t sample) {
    const float* pixels = training_.pixels.data() + sample * kPixels;
    const auto label = static_cast<size_t>(training_.labels[sample]);
    const Activations forward = Forward(parameters_.data(), pixels);
    const float* output_weights = parameters_.data() + kHiddenWeights + kHidden;
    float* hidden_weights_gradient = gradients_.data();
    float* hidden_biases_gradient = hidden_weights_gradient + kHiddenWeights;
    float* output_weights_gradient = hidden_biases_gradient + kHidden;
    float* output_biases_gradient = output_weights_gradient + kOutputWeights;

    std::array<float, kHidden> hidden_error{};
    for (size_t c = 0; c < kClasses; ++c) {
      const float error = forward.probability[c] - (c == label ? 1.0f : 0.0f);
      output_biases_gradient[c] += error;
      for (size_t h = 0; h < kHidden; ++h) {
        output_weights_gradient[c * kHidden + h] += error * forward.hidden[h];
        hidden_error[h] += error * output_weights[c * kHidden + h];
      }
    }
    for (size_t h = 0; h < kHidden; ++h) {
      if (forward.hidden[h] <= 0) continue;
      hidden_biases_gradient[h] += hidden_error[h];
      for (size_t p = 0; p < kPixels; ++p) {
        hidden_weights_gradient[h * kPixels + p] += hidden_error[h] * pixels[p];
      }
    }
    gradients_[kParameters] -= std::log(std::max(forward.probability[label], 1e-30f));
  }

  const Samples& training_;
  std::vector<float> parameters_ = std::vector<float>(kParameters);
  std::vector<float> gradients_ = std::vector<float>(kGradients);
  std::vector<float> velocity_ = std::vector<float>(kParameters);
};

}  // namespace

std::vector<float> InitialParameters() {
  std::vector<float> parameters(kParameters);
  std::mt19937 random(7);
  const auto fill = [&](size_t begin, size_t count, size_t inputs) {
    std::normal_distribution<float> normal(0, std::sqrt(2.0f / static_cast<float>(inputs)));
    for (size_t i = begin; i < begin + count; ++i) parameters[i] = normal(random);
  };
  fill(0, kHiddenWeights, kPixels);
  fill(kHiddenWeights + kHidden, kOutputWeights, kHidden);
  return parameters;
}

size_t CountCorrect(const std::vector<float>& parameters, const Samples& samples) {
  size_t correct = 0;
  for (size_t i = 0; i < samples.count(); ++i) {
    const auto probability =
        Forward(parameters.data(), samples.pixels.data() + i * kPixels).probability;
    const auto best = std::max_element(probability.begin(), probability.end());
    if (best - probability.begin() == samples.labels[i]) ++correct;
  }
  return correct;
}

std::unique_ptr<Network> MakeCpuNetwork(const Samples& training) {
  return std::make_unique<CpuNetwork>(training);
}

}  // namespace train_digits
