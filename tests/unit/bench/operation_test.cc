#include "operation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace autodist::bench {
namespace {

constexpr Place kPlace{1, 2};  // the second of two ranks
constexpr uint64_t kCount = 1000;

float InputOf(uint64_t rank, uint64_t place) { return static_cast<float>((place + rank) % 251); }

// What the second of two ranks gets, where the first takes part as it should; `spoil` may change it
// afterwards.
class OtherRank final : public Communicator {
 public:
  explicit OtherRank(std::function<void(float* result)> spoil) : spoil_(std::move(spoil)) {}

  Status AllReduce(void* data, size_t count, DataType, ReduceOp) override {
    float* const numbers = static_cast<float*>(data);
    for (size_t i = 0; i < count; ++i) numbers[i] += InputOf(0, i);
    return Spoil(numbers);
  }
  Status Broadcast(void* data, size_t count, DataType, uint32_t) override {
    float* const numbers = static_cast<float*>(data);
    for (size_t i = 0; i < count; ++i) numbers[i] = InputOf(0, i);
    return Spoil(numbers);
  }
  Status AllGather(const void* in, void* out, size_t count, DataType) override {
    float* const numbers = static_cast<float*>(out);
    for (size_t i = 0; i < count; ++i) numbers[i] = InputOf(0, i);
    std::copy_n(static_cast<const float*>(in), count, numbers + count);
    return Spoil(numbers);
  }
  Status ReduceScatter(const void* in, void* out, size_t count, DataType, ReduceOp) override {
    float* const numbers = static_cast<float*>(out);
    for (size_t i = 0; i < count; ++i) {
      numbers[i] = static_cast<const float*>(in)[count + i] + InputOf(0, count + i);
    }
    return Spoil(numbers);
  }
  Status Barrier() override { return OkStatus(); }

 private:
  Status Spoil(float* numbers) {
    spoil_(numbers);
    return OkStatus();
  }
  const std::function<void(float*)> spoil_;
};

class OperationTest : public testing::TestWithParam<v1::Collective> {
 protected:
  uint64_t WrongAfter(const std::function<void(float*)>& spoil) {
    const auto device = MakeCpuDevice();
    auto operation = Operation::Make(GetParam(), {0, kCount}, kPlace, *device);
    EXPECT_TRUE(operation.ok()) << operation.status();
    OtherRank ring(spoil);
    EXPECT_TRUE(operation->Fill().ok());
    EXPECT_TRUE(operation->Run(ring).ok());
    return operation->CountWrong().value();
  }
};

TEST_P(OperationTest, ARightResultHasNoWrongNumbers) {
  EXPECT_EQ(WrongAfter([](float*) {}), 0u);
}

TEST_P(OperationTest, EveryWrongNumberIsCounted) {
  EXPECT_EQ(WrongAfter([](float* result) {
              result[0] += 1;
              result[kCount - 1] = -1;
            }),
            2u);
}

TEST_P(OperationTest, NumbersAtAnotherPlaceAreWrong) {
  EXPECT_GT(WrongAfter([](float* result) { std::rotate(result, result + 1, result + kCount); }),
            kCount / 2);
}

INSTANTIATE_TEST_SUITE_P(All, OperationTest,
                         testing::Values(v1::COLLECTIVE_ALL_REDUCE, v1::COLLECTIVE_ALL_GATHER,
                                         v1::COLLECTIVE_REDUCE_SCATTER, v1::COLLECTIVE_BROADCAST));

}  // namespace
}  // namespace autodist::bench
