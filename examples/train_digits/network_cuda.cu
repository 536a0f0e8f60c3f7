#include <cuda_runtime.h>

#include <string>

#include "network.h"

namespace train_digits {
namespace {

using autodist::OkStatus;
using autodist::Result;
using autodist::Status;

constexpr int kThreads = 128;

Status ToStatus(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return OkStatus();
  return autodist::Error(autodist::StatusCode::kUnavailable,
                         std::string(what) + ": " + cudaGetErrorString(error));
}

// The values of one sample that the backward pass needs.
struct SampleState {
  float hidden[kHidden];
  float hidden_error[kHidden];
  float output_error[kClasses];
  float loss;
};

// One thread per sample.
__global__ void Forward(const float* parameters, const float* pixels, const int* labels,
                        const uint32_t* samples, unsigned count, SampleState* states) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float* hidden_weights = parameters;
  const float* hidden_biases = hidden_weights + kHiddenWeights;
  const float* output_weights = hidden_biases + kHidden;
  const float* output_biases = output_weights + kOutputWeights;
  const float* image = pixels + samples[i] * kPixels;
  const int label = labels[samples[i]];
  SampleState& state = states[i];
  for (size_t h = 0; h < kHidden; ++h) {
    float sum = hidden_biases[h];
    for (size_t p = 0; p < kPixels; ++p) sum += hidden_weights[h * kPixels + p] * image[p];
    state.hidden[h] = fmaxf(sum, 0.0f);
    state.hidden_error[h] = 0;
  }
  float largest = -1e30f;
  for (size_t c = 0; c < kClasses; ++c) {
    float sum = output_biases[c];
    for (size_t h = 0; h < kHidden; ++h) sum += output_weights[c * kHidden + h] * state.hidden[h];
    state.output_error[c] = sum;
    largest = fmaxf(largest, sum);
  }
  float total = 0;
  for (size_t c = 0; c < kClasses; ++c) {
    total += state.output_error[c] = expf(state.output_error[c] - largest);
  }
  for (size_t c = 0; c < kClasses; ++c) {
    const float probability = state.output_error[c] / total;
    const bool right = static_cast<int>(c) == label;
    if (right) state.loss = -logf(fmaxf(probability, 1e-30f));
    state.output_error[c] = probability - (right ? 1.0f : 0.0f);
    for (size_t h = 0; h < kHidden; ++h) {
      state.hidden_error[h] += state.output_error[c] * output_weights[c * kHidden + h];
    }
  }
  for (size_t h = 0; h < kHidden; ++h) {
    if (state.hidden[h] <= 0) state.hidden_error[h] = 0;
  }
}

// One thread per gradient adds the samples in a fixed order, so that sums are reproducible.
__global__ void SumGradients(const float* pixels, const uint32_t* samples, unsigned count,
                             const SampleState* states, float* gradients) {
  const size_t g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= kGradients) return;
  float sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const SampleState& state = states[i];
    if (g < kHiddenWeights) {
      sum += state.hidden_error[g / kPixels] * pixels[samples[i] * kPixels + g % kPixels];
    } else if (g < kHiddenWeights + kHidden) {
      sum += state.hidden_error[g - kHiddenWeights];
    } else if (g < kHiddenWeights + kHidden + kOutputWeights) {
      const size_t w = g - kHiddenWeights - kHidden;
      sum += state.output_error[w / kHidden] * state.hidden[w % kHidden];
    } else if (g < kParameters) {
      sum += state.output_error[g - kHiddenWeights - kHidden - kOutputWeights];
    } else {
      sum += state.loss;
    }
  }
  gradients[g] = sum;
}

__global__ void Update(float* parameters, float* velocity, const float* gradients, float batch_size,
                       float learning_rate, float momentum) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kParameters) return;
  velocity[i] = momentum * velocity[i] - learning_rate * gradients[i] / batch_size;
  parameters[i] += velocity[i];
}

unsigned Blocks(size_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

// Device memory for `count` values.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  Status Allocate(size_t count) {
    AD_RETURN_IF_ERROR(ToStatus(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc"));
    return ToStatus(cudaMemset(data_, 0, count * sizeof(T)), "cudaMemset");
  }
  Status Put(const T* from, size_t count) {
    return ToStatus(cudaMemcpy(data_, from, count * sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

class CudaNetwork final : public Network {
 public:
  Status Open(const Samples& training, int device) {
    AD_RETURN_IF_ERROR(ToStatus(cudaSetDevice(device), "choosing the GPU"));
    AD_RETURN_IF_ERROR(pixels_.Allocate(training.pixels.size()));
    AD_RETURN_IF_ERROR(labels_.Allocate(training.count()));
    AD_RETURN_IF_ERROR(samples_.Allocate(training.count()));
    AD_RETURN_IF_ERROR(states_.Allocate(training.count()));
    AD_RETURN_IF_ERROR(parameters_.Allocate(kParameters));
    AD_RETURN_IF_ERROR(gradients_.Allocate(kGradients));
    AD_RETURN_IF_ERROR(velocity_.Allocate(kParameters));
    AD_RETURN_IF_ERROR(pixels_.Put(training.pixels.data(), training.pixels.size()));
    return labels_.Put(training.labels.data(), training.count());
  }

  float* parameters() override { return parameters_.get(); }
  float* gradients() override { return gradients_.get(); }

  Status ComputeGradients(const std::vector<uint32_t>& samples) override {
    const auto count = static_cast<unsigned>(samples.size());
    AD_RETURN_IF_ERROR(samples_.Put(samples.data(), samples.size()));
    if (count > 0) {
      Forward<<<Blocks(count), kThreads>>>(parameters_.get(), pixels_.get(), labels_.get(),
                                           samples_.get(), count, states_.get());
    }
    SumGradients<<<Blocks(kGradients), kThreads>>>(pixels_.get(), samples_.get(), count,
                                                   states_.get(), gradients_.get());
    return ToStatus(cudaGetLastError(), "computing gradients");
  }

  Status Step(float batch_size, float learning_rate, float momentum) override {
    Update<<<Blocks(kParameters), kThreads>>>(parameters_.get(), velocity_.get(), gradients_.get(),
                                              batch_size, learning_rate, momentum);
    return ToStatus(cudaGetLastError(), "updating the parameters");
  }

  Status SetParameters(const std::vector<float>& parameters) override {
    return parameters_.Put(parameters.data(), parameters.size());
  }

  Result<std::vector<float>> Parameters() override {
    std::vector<float> parameters(kParameters);
    AD_RETURN_IF_ERROR(ToStatus(cudaMemcpy(parameters.data(), parameters_.get(),
                                           kParameters * sizeof(float), cudaMemcpyDeviceToHost),
                                "download"));
    return parameters;
  }

  Result<float> Loss() override {
    float loss = 0;
    AD_RETURN_IF_ERROR(ToStatus(
        cudaMemcpy(&loss, gradients_.get() + kParameters, sizeof loss, cudaMemcpyDeviceToHost),
        "download"));
    return loss;
  }

 private:
  DeviceArray<float> pixels_;
  DeviceArray<int> labels_;
  DeviceArray<uint32_t> samples_;
  DeviceArray<SampleState> states_;
  DeviceArray<float> parameters_;
  DeviceArray<float> gradients_;
  DeviceArray<float> velocity_;
};

}  // namespace

Result<std::unique_ptr<Network>> MakeCudaNetwork(const Samples& training, int device) {
  auto network = std::make_unique<CudaNetwork>();
  AD_RETURN_IF_ERROR(network->Open(training, device));
  return std::unique_ptr<Network>(std::move(network));
}

}  // namespace train_digits
