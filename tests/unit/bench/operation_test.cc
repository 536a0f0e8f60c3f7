#include "operation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <tuple>

namespace autodist::bench {
namespace {

constexpr Place kPlace{1, 2};  // the second of two ranks
constexpr uint64_t kCount = 1000;

float InputOf(uint64_t rank, uint64_t place) { return static_cast<float>((place + rank) % 251); }

// Simulates the first rank for the second of two; `spoil` may change the result afterwards.
class OtherRank final : public Communicator {
 public:
  explicit OtherRank(std::function<void(float* result)> spoil) : spoil_(std::move(spoil)) {}

  Status AllReduce(const void* in, void* out, size_t count, DataType, ReduceOp) override {
    return Give(out, count, [&](size_t i) { return Mine(in)[i] + InputOf(0, i); });
  }
  Status Broadcast(const void*, void* out, size_t count, DataType, uint32_t) override {
    return Give(out, count, [](size_t i) { return InputOf(0, i); });
  }
  Status AllGather(const void* in, void* out, size_t count, DataType) override {
    return Give(out, 2 * count,
                [&](size_t i) { return i < count ? InputOf(0, i) : Mine(in)[i - count]; });
  }
  Status ReduceScatter(const void* in, void* out, size_t count, DataType, ReduceOp) override {
    return Give(out, count, [&](size_t i) { return Mine(in)[count + i] + InputOf(0, count + i); });
  }
  Status AllToAll(const void* in, void* out, size_t count, DataType) override {
    return Give(out, 2 * count,
                [&](size_t i) { return i < count ? InputOf(0, count + i) : Mine(in)[i]; });
  }
  Status SendReceive(const void*, uint32_t to, void* out, uint32_t from, size_t count,
                     DataType) override {
    EXPECT_EQ(to, 0u);
    EXPECT_EQ(from, 0u);
    return Give(out, count, [](size_t i) { return InputOf(0, i); });
  }
  Status Barrier() override { return OkStatus(); }
  Status Wait(std::chrono::milliseconds) override { return OkStatus(); }

 private:
  static const float* Mine(const void* in) { return static_cast<const float*>(in); }

  template <typename Number>
  Status Give(void* out, size_t count, Number number) {
    float* const numbers = static_cast<float*>(out);
    for (size_t i = 0; i < count; ++i) numbers[i] = number(i);
    spoil_(numbers);
    return OkStatus();
  }
  const std::function<void(float*)> spoil_;
};

class OperationTest : public testing::TestWithParam<std::tuple<v1::Collective, Output>> {
 protected:
  OperationTest()
      : operation_(Operation::Make(std::get<0>(GetParam()), {0, kCount}, std::get<1>(GetParam()),
                                   kPlace, *device_)) {}

  void SetUp() override {
    ASSERT_TRUE(operation_.ok()) << operation_.status();
    ASSERT_TRUE(operation_->Fill().ok());
  }

  uint64_t WrongAfter(const std::function<void(float*)>& spoil) {
    OtherRank ring(spoil);
    EXPECT_TRUE(operation_->Run(ring).ok());
    return operation_->CountWrong().value();
  }

  const std::unique_ptr<Device> device_ = MakeCpuDevice();
  Result<Operation> operation_;
};

TEST_P(OperationTest, ACorrectResultHasNoWrongNumbers) {
  EXPECT_EQ(WrongAfter([](float*) {}), 0u);
}

TEST_P(OperationTest, EveryWrongNumberIsCounted) {
  EXPECT_EQ(WrongAfter([](float* result) {
              result[0] += 1;
              result[kCount - 1] = -1;
            }),
            2u);
}

TEST_P(OperationTest, MisplacedNumbersAreWrong) {
  EXPECT_GT(WrongAfter([](float* result) { std::rotate(result, result + 1, result + kCount); }),
            kCount / 2);
}

TEST_P(OperationTest, AMissingResultIsWrong) {
  EXPECT_GT(operation_->CountWrong().value(), kCount / 2);
  WrongAfter([](float*) {});  // the result of the operation before does not count
  ASSERT_TRUE(operation_->Fill().ok());
  EXPECT_GT(operation_->CountWrong().value(), kCount / 2);
}

INSTANTIATE_TEST_SUITE_P(
    OutOfPlace, OperationTest,
    testing::Combine(testing::Values(v1::COLLECTIVE_ALL_REDUCE, v1::COLLECTIVE_ALL_GATHER,
                                     v1::COLLECTIVE_REDUCE_SCATTER, v1::COLLECTIVE_BROADCAST,
                                     v1::COLLECTIVE_ALL_TO_ALL, v1::COLLECTIVE_SEND_RECV),
                     testing::Values(Output::kOutOfPlace)));
INSTANTIATE_TEST_SUITE_P(
    InPlace, OperationTest,
    testing::Combine(testing::Values(v1::COLLECTIVE_ALL_REDUCE, v1::COLLECTIVE_ALL_GATHER,
                                     v1::COLLECTIVE_REDUCE_SCATTER, v1::COLLECTIVE_BROADCAST),
                     testing::Values(Output::kInPlace)));

}  // namespace
}  // namespace autodist::bench
