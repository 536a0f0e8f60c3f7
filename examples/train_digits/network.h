// A small neural network, 64 → 32 → 10, trained by stochastic gradient descent with momentum.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autodist/status.h"
#include "digits.h"

namespace train_digits {

inline constexpr size_t kHidden = 32;
// Weights and biases of both layers, in this order: hidden weights, hidden biases, output weights,
// output biases.
inline constexpr size_t kHiddenWeights = kHidden * kPixels;
inline constexpr size_t kOutputWeights = kClasses * kHidden;
inline constexpr size_t kParameters = kHiddenWeights + kHidden + kOutputWeights + kClasses;
// The gradient of each parameter, then the loss.
inline constexpr size_t kGradients = kParameters + 1;

class Network {
 public:
  virtual ~Network() = default;

  // In host or GPU memory. kParameters and kGradients floats.
  virtual float* parameters() = 0;
  virtual float* gradients() = 0;

  // Sets gradients() to the sums of gradients and loss over these training samples.
  virtual autodist::Status ComputeGradients(const std::vector<uint32_t>& samples) = 0;

  // Moves the parameters against gradients / batch_size.
  virtual autodist::Status Step(float batch_size, float learning_rate, float momentum) = 0;

  virtual autodist::Status SetParameters(const std::vector<float>& parameters) = 0;
  // Copies to the host.
  virtual autodist::Result<std::vector<float>> Parameters() = 0;
  virtual autodist::Result<float> Loss() = 0;
};

// Small random numbers with a fixed seed; those of rank 0 are broadcast.
std::vector<float> InitialParameters();

// The number of samples that a network with these parameters classifies correctly.
size_t CountCorrect(const std::vector<float>& parameters, const Samples& samples);

std::unique_ptr<Network> MakeCpuNetwork(const Samples& training);
// kUnimplemented in a build without CUDA.
autodist::Result<std::unique_ptr<Network>> MakeCudaNetwork(const Samples& training, int device);

}  // namespace train_digits
