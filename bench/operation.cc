#include "operation.h"

#include <algorithm>
#include <array>
#include <vector>

namespace autodist::bench {
namespace {

constexpr uint64_t kElementSize = sizeof(float);

// The fraction of the bytes that passes a link in the optimal algorithm.
double BusFactor(v1::Collective collective, double ranks) {
  switch (collective) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return 2 * (ranks - 1) / ranks;
    case v1::COLLECTIVE_ALL_GATHER:
    case v1::COLLECTIVE_REDUCE_SCATTER:
    case v1::COLLECTIVE_ALL_TO_ALL:
      return (ranks - 1) / ranks;
    default:
      return 1;
  }
}

// Aligns every rank's part for fast access on the device; small counts are unchanged.
uint64_t Aligned(uint64_t count) {
  constexpr uint64_t kNumbers = 16 / kElementSize;
  return count < kNumbers ? count : count / kNumbers * kNumbers;
}

constexpr uint64_t kPeriod = 251;     // a prime, to detect exchanged parts
constexpr uint64_t kPiece = 1 << 18;  // numbers compared at once
constexpr uint32_t kRoot = 0;
constexpr float kUnset = -1;  // neither an input nor a sum

// The input of a rank at a position; sums over ranks are exact.
float Input(uint64_t rank, uint64_t place) { return static_cast<float>((place + rank) % kPeriod); }

using Pattern = std::array<float, kPeriod>;  // by position

Pattern InputOf(uint64_t rank) {
  Pattern pattern;
  for (uint64_t i = 0; i < kPeriod; ++i) pattern[i] = Input(rank, i);
  return pattern;
}

Pattern SumOf(uint32_t world_size) {
  Pattern pattern{};
  for (uint64_t i = 0; i < kPeriod; ++i) {
    for (uint32_t rank = 0; rank < world_size; ++rank) pattern[i] += Input(rank, i);
  }
  return pattern;
}

// Counts those of `count` numbers at `begin` that differ from the pattern from `place` on.
Result<uint64_t> CountDifferent(Device::Buffer& buffer, uint64_t begin, uint64_t count,
                                const Pattern& pattern, uint64_t place) {
  std::vector<float> piece(std::min(kPiece, count));
  uint64_t different = 0;
  for (uint64_t done = 0; done < count; done += piece.size()) {
    piece.resize(std::min(kPiece, count - done));
    AD_RETURN_IF_ERROR(buffer.Read(begin + done, piece));
    for (size_t i = 0; i < piece.size(); ++i) {
      if (piece[i] != pattern[(place + done + i) % kPeriod]) ++different;
    }
  }
  return different;
}

uint64_t NumbersIn(v1::Collective collective, uint64_t count, uint32_t world_size) {
  const bool of_all_ranks =
      collective == v1::COLLECTIVE_REDUCE_SCATTER || collective == v1::COLLECTIVE_ALL_TO_ALL;
  return of_all_ranks ? count * world_size : count;
}

uint64_t NumbersOut(v1::Collective collective, uint64_t count, uint32_t world_size) {
  const bool of_all_ranks =
      collective == v1::COLLECTIVE_ALL_GATHER || collective == v1::COLLECTIVE_ALL_TO_ALL;
  return of_all_ranks ? count * world_size : count;
}

// Returns the begin of a result that does not overlap the input, aligned for the device.
uint64_t ApartFrom(uint64_t numbers_in) {
  constexpr uint64_t kAlignment = 64;  // numbers
  return (numbers_in + kAlignment - 1) / kAlignment * kAlignment;
}

uint64_t NumbersNeeded(uint64_t in, uint64_t out, Output output) {
  return output == Output::kInPlace ? std::max(in, out) : ApartFrom(in) + out;
}

}  // namespace

std::vector<Size> SizesOf(const v1::BenchPlan& plan, v1::Collective collective,
                          uint32_t world_size) {
  const bool in_parts = collective == v1::COLLECTIVE_ALL_GATHER ||
                        collective == v1::COLLECTIVE_REDUCE_SCATTER ||
                        collective == v1::COLLECTIVE_ALL_TO_ALL;
  const uint64_t parts = in_parts ? world_size : 1;
  const uint64_t unit = kElementSize * parts;
  std::vector<Size> sizes;
  for (uint64_t bytes = plan.from(); bytes <= plan.to(); bytes *= plan.factor()) {
    const uint64_t count = Aligned(std::max(bytes / unit, uint64_t{1}));
    if (sizes.empty() || sizes.back().count != count) sizes.push_back({count * unit, count});
    if (bytes > plan.to() / plan.factor()) break;  // prevents an overflow
  }
  return sizes;
}

Bandwidth BandwidthOf(v1::Collective collective, uint64_t bytes, double seconds,
                      uint32_t world_size) {
  const double algorithm = static_cast<double>(bytes) / 1e9 / seconds;
  return {algorithm, algorithm * BusFactor(collective, world_size)};
}

bool WorksInPlace(v1::Collective collective) {
  return collective != v1::COLLECTIVE_ALL_TO_ALL && collective != v1::COLLECTIVE_SEND_RECV;
}

uint64_t BytesNeeded(v1::Collective collective, Size size, Output output, uint32_t world_size) {
  return NumbersNeeded(NumbersIn(collective, size.count, world_size),
                       NumbersOut(collective, size.count, world_size), output) *
         sizeof(float);
}

Result<Operation> Operation::Make(v1::Collective collective, Size size, Output output, Place place,
                                  Device& device) {
  Operation made(collective, size, place);
  made.in_.count = NumbersIn(collective, size.count, place.world_size);
  made.out_.count = NumbersOut(collective, size.count, place.world_size);
  if (output == Output::kOutOfPlace) {
    made.out_.begin = ApartFrom(made.in_.count);
  } else {  // the smaller buffer is this rank's part of the other
    if (made.in_.count < made.out_.count) made.in_.begin = place.rank * size.count;
    if (made.out_.count < made.in_.count) made.out_.begin = place.rank * size.count;
  }
  AD_ASSIGN_OR_RETURN(made.data_,
                      device.Allocate(NumbersNeeded(made.in_.count, made.out_.count, output)));
  return made;
}

template <typename Number>
Status Operation::Write(Range range, Number number) {
  std::vector<float> piece;
  for (uint64_t done = 0; done < range.count; done += piece.size()) {
    piece.resize(std::min(kPiece, range.count - done));
    for (size_t i = 0; i < piece.size(); ++i) piece[i] = number(done + i);
    AD_RETURN_IF_ERROR(data_->Write(range.begin + done, piece));
  }
  return OkStatus();
}

Status Operation::Fill() {
  AD_RETURN_IF_ERROR(Write(out_, [](uint64_t) { return kUnset; }));
  const Pattern pattern = InputOf(place_.rank);
  return Write(in_, [&](uint64_t place) { return pattern[place % kPeriod]; });
}

Status Operation::Run(Communicator& ring) {
  constexpr DataType kType = DataType::kFloat32;
  const uint64_t count = size_.count;
  switch (collective_) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return ring.AllReduce(in(), out(), count, kType, ReduceOp::kSum);
    case v1::COLLECTIVE_ALL_GATHER:
      return ring.AllGather(in(), out(), count, kType);
    case v1::COLLECTIVE_REDUCE_SCATTER:
      return ring.ReduceScatter(in(), out(), count, kType, ReduceOp::kSum);
    case v1::COLLECTIVE_BROADCAST:
      return ring.Broadcast(in(), out(), count, kType, kRoot);
    case v1::COLLECTIVE_ALL_TO_ALL:
      return ring.AllToAll(in(), out(), count, kType);
    case v1::COLLECTIVE_SEND_RECV:
      return ring.SendReceive(in(), place_.to, out(), place_.from, count, kType);
    default:
      return Error(StatusCode::kInvalidArgument, "no such collective operation");
  }
}

Result<uint64_t> Operation::CountWrong() {
  const uint64_t count = size_.count;
  const uint32_t rank = place_.rank;
  const uint32_t ranks = place_.world_size;
  switch (collective_) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return CountDifferent(*data_, out_.begin, count, SumOf(ranks), 0);
    case v1::COLLECTIVE_REDUCE_SCATTER:
      return CountDifferent(*data_, out_.begin, count, SumOf(ranks), rank * count);
    case v1::COLLECTIVE_BROADCAST:
      return CountDifferent(*data_, out_.begin, count, InputOf(kRoot), 0);
    case v1::COLLECTIVE_SEND_RECV:
      return CountDifferent(*data_, out_.begin, count, InputOf(place_.from), 0);
    default:
      break;
  }
  // Each rank contributes a part: all of the rank's data, or its part for this rank.
  const uint64_t place = collective_ == v1::COLLECTIVE_ALL_TO_ALL ? rank * count : 0;
  uint64_t wrong = 0;
  for (uint32_t from = 0; from < ranks; ++from) {
    AD_ASSIGN_OR_RETURN(const uint64_t part, CountDifferent(*data_, out_.begin + from * count,
                                                            count, InputOf(from), place));
    wrong += part;
  }
  return wrong;
}

}  // namespace autodist::bench
