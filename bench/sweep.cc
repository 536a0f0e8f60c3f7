#include "sweep.h"

#include <algorithm>
#include <chrono>

namespace autodist::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kPeerLimit{5};  // for late peers

class Sweeper {
 public:
  Sweeper(const v1::BenchPlan& plan, Place place, Device& device, Communicator& ring,
          Device::Buffer& word)
      : plan_(plan), place_(place), device_(device), ring_(ring), word_(word) {}

  Result<Row> Measure(v1::Collective collective, Size size) {
    Row row{collective, size, {}, {}};
    AD_ASSIGN_OR_RETURN(row.out_of_place, Measure(collective, size, Output::kOutOfPlace));
    if (WorksInPlace(collective)) {
      AD_ASSIGN_OR_RETURN(row.in_place, Measure(collective, size, Output::kInPlace));
    }
    return row;
  }

  // Returns the same value on every rank.
  Result<float> OverRanks(float mine, ReduceOp op) {
    AD_RETURN_IF_ERROR(word_.Write(0, {&mine, 1}));
    AD_RETURN_IF_ERROR(ring_.AllReduce(word_.data(), 1, DataType::kFloat32, op));
    AD_RETURN_IF_ERROR(ring_.Wait(QueueLimit()));
    AD_RETURN_IF_ERROR(word_.Read(0, {&mine, 1}));
    return mine;
  }

 private:
  Result<Measurement> Measure(v1::Collective collective, Size size, Output output) {
    AD_ASSIGN_OR_RETURN(Operation operation,
                        Operation::Make(collective, size, output, place_, device_));
    AD_RETURN_IF_ERROR(operation.Fill());
    AD_ASSIGN_OR_RETURN(double seconds, TimeOf(operation, 1));
    AD_ASSIGN_OR_RETURN(const uint64_t mine, operation.CountWrong());
    AD_ASSIGN_OR_RETURN(const double wrong, OverRanks(static_cast<float>(mine), ReduceOp::kSum));
    if (const uint32_t warmup = Affordable(seconds, plan_.warmup()); warmup > 0) {
      AD_ASSIGN_OR_RETURN(seconds, TimeOf(operation, warmup));
    }
    const uint32_t iterations = std::max(Affordable(seconds, plan_.iterations()), 1u);
    AD_ASSIGN_OR_RETURN(seconds, TimeOf(operation, iterations));
    return Measurement{seconds, BandwidthOf(collective, size.bytes, seconds, place_.world_size),
                       static_cast<uint64_t>(wrong)};
  }

  // Returns the seconds per call for `times` calls that all ranks begin together, on the slowest
  // rank. The calls are queued, if the ring can do that, and then waited for.
  Result<float> TimeOf(Operation& operation, uint32_t times) {
    AD_RETURN_IF_ERROR(ring_.Barrier());
    const auto start = Clock::now();
    for (uint32_t i = 0; i < times; ++i) AD_RETURN_IF_ERROR(operation.Run(ring_));
    AD_RETURN_IF_ERROR(ring_.Wait(QueueLimit()));
    const std::chrono::duration<float> took = Clock::now() - start;
    return OverRanks(took.count() / static_cast<float>(times), ReduceOp::kMax);
  }

  // The time to complete all queued calls, which may be slower than the first ones.
  std::chrono::milliseconds QueueLimit() const {
    constexpr int kSlower = 10;
    return kPeerLimit + kSlower * std::chrono::milliseconds(plan_.budget_ms());
  }

  // Returns how many of `most` calls fit into the time for a size.
  uint32_t Affordable(double seconds, uint32_t most) const {
    const double calls = plan_.budget_ms() / 1e3 / seconds;
    return calls < most ? static_cast<uint32_t>(calls) : most;
  }

  const v1::BenchPlan& plan_;
  const Place place_;
  Device& device_;
  Communicator& ring_;
  Device::Buffer& word_;  // one number
};

}  // namespace

Result<uint64_t> Sweep(const v1::BenchPlan& plan, Place place, uint64_t free_bytes, Device& device,
                       Communicator& ring, Printer& printer) {
  AD_ASSIGN_OR_RETURN(const auto word, device.Allocate(1));
  Sweeper sweeper(plan, place, device, ring, *word);
  // The conversion rounds, at most in the last bit.
  AD_ASSIGN_OR_RETURN(const float least,
                      sweeper.OverRanks(static_cast<float>(free_bytes), ReduceOp::kMin));
  uint64_t wrong = 0;
  for (const int number : plan.collectives()) {
    const auto collective = static_cast<v1::Collective>(number);
    printer.Begin(collective);
    for (const Size size : SizesOf(plan, collective, place.world_size)) {
      const uint64_t needed = BytesNeeded(collective, size, Output::kOutOfPlace, place.world_size);
      if (static_cast<double>(needed) > least) {
        printer.TooLarge(size, static_cast<uint64_t>(least));
        break;
      }
      AD_ASSIGN_OR_RETURN(const Row row, sweeper.Measure(collective, size));
      wrong += row.out_of_place.wrong + (row.in_place ? row.in_place->wrong : 0);
      printer.Add(row);
    }
  }
  return wrong;
}

}  // namespace autodist::bench
