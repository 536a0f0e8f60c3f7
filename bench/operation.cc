#include "operation.h"

#include <algorithm>
#include <array>
#include <vector>

namespace autodist::bench {
namespace {

constexpr uint64_t kPeriod = 251;     // a prime: parts that changed places are noticed
constexpr uint64_t kPiece = 1 << 18;  // numbers looked at together
constexpr uint32_t kRoot = 0;

// What a rank has at a place; sums over ranks are exact.
float Input(uint64_t rank, uint64_t place) { return static_cast<float>((place + rank) % kPeriod); }

using Pattern = std::array<float, kPeriod>;  // by place

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

// Of `count` numbers at `begin`, those that differ from the pattern from `place` on.
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
  return collective == v1::COLLECTIVE_REDUCE_SCATTER ? count * world_size : count;
}

uint64_t NumbersOut(v1::Collective collective, uint64_t count, uint32_t world_size) {
  if (collective == v1::COLLECTIVE_ALL_GATHER) return count * world_size;
  return collective == v1::COLLECTIVE_REDUCE_SCATTER ? count : 0;
}

}  // namespace

uint64_t BytesNeeded(v1::Collective collective, Size size, uint32_t world_size) {
  return (NumbersIn(collective, size.count, world_size) +
          NumbersOut(collective, size.count, world_size)) *
         sizeof(float);
}

Result<Operation> Operation::Make(v1::Collective collective, Size size, Place place,
                                  Device& device) {
  Operation made(collective, size, place);
  made.numbers_in_ = NumbersIn(collective, size.count, place.world_size);
  made.numbers_out_ = NumbersOut(collective, size.count, place.world_size);
  AD_ASSIGN_OR_RETURN(made.in_, device.Allocate(made.numbers_in_));
  if (made.numbers_out_ > 0) {
    AD_ASSIGN_OR_RETURN(made.out_, device.Allocate(made.numbers_out_));
  }
  return made;
}

Status Operation::Fill() {
  const Pattern pattern = InputOf(place_.rank);
  std::vector<float> piece;
  for (uint64_t done = 0; done < numbers_in_; done += piece.size()) {
    piece.resize(std::min(kPiece, numbers_in_ - done));
    for (size_t i = 0; i < piece.size(); ++i) piece[i] = pattern[(done + i) % kPeriod];
    AD_RETURN_IF_ERROR(in_->Write(done, piece));
  }
  return OkStatus();
}

Status Operation::Run(Communicator& ring) {
  switch (collective_) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return ring.AllReduce(in_->data(), size_.count, DataType::kFloat32, ReduceOp::kSum);
    case v1::COLLECTIVE_ALL_GATHER:
      return ring.AllGather(in_->data(), out_->data(), size_.count, DataType::kFloat32);
    case v1::COLLECTIVE_REDUCE_SCATTER:
      return ring.ReduceScatter(in_->data(), out_->data(), size_.count, DataType::kFloat32,
                                ReduceOp::kSum);
    case v1::COLLECTIVE_BROADCAST:
      return ring.Broadcast(in_->data(), size_.count, DataType::kFloat32, kRoot);
    default:
      return Error(StatusCode::kInvalidArgument, "no such collective operation");
  }
}

Result<uint64_t> Operation::CountWrong() {
  const uint64_t count = size_.count;
  switch (collective_) {
    case v1::COLLECTIVE_ALL_REDUCE:
      return CountDifferent(result(), 0, count, SumOf(place_.world_size), 0);
    case v1::COLLECTIVE_REDUCE_SCATTER:
      return CountDifferent(result(), 0, count, SumOf(place_.world_size), place_.rank * count);
    case v1::COLLECTIVE_BROADCAST:
      return CountDifferent(result(), 0, count, InputOf(kRoot), 0);
    default:
      break;
  }
  uint64_t wrong = 0;
  for (uint32_t rank = 0; rank < place_.world_size; ++rank) {
    AD_ASSIGN_OR_RETURN(const uint64_t part,
                        CountDifferent(result(), rank * count, count, InputOf(rank), 0));
    wrong += part;
  }
  return wrong;
}

}  // namespace autodist::bench
