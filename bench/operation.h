// One collective operation on one size of data, whose result can be checked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"
#include "device.h"

namespace autodist::bench {

// The size of one call; as nccl-tests defines it, like the bandwidths. The bytes of an all-gather
// are those that every rank receives, those of a reduce-scatter or an all-to-all what every rank
// sends.
struct Size {
  uint64_t bytes;  // in total
  uint64_t count;  // elements per call, in the communicator's sense
};

// Returns the sizes from plan.from to plan.to, each plan.factor times the previous one. Rounds
// small sizes up to the minimum number of elements for every rank; removes duplicates.
std::vector<Size> SizesOf(const v1::BenchPlan& plan, v1::Collective collective,
                          uint32_t world_size);

struct Bandwidth {
  double algorithm;  // GB/s (10^9 bytes) of data for the caller
  double bus;        // GB/s through the slowest link, independent of the number of ranks
};

Bandwidth BandwidthOf(v1::Collective collective, uint64_t bytes, double seconds,
                      uint32_t world_size);

struct Place {  // position of this rank in the job
  uint32_t rank;
  uint32_t world_size;
  // The ranks with which it exchanges data.
  uint32_t to = (rank + 1) % world_size;
  uint32_t from = (rank + world_size - 1) % world_size;
};

// The location of the result.
enum class Output { kOutOfPlace, kInPlace };

// Whether the operation supports a result in place of the input.
bool WorksInPlace(v1::Collective collective);

// Returns the buffer size of an operation of this size, in bytes.
uint64_t BytesNeeded(v1::Collective collective, Size size, Output output, uint32_t world_size);

// Not thread-safe.
class Operation {
 public:
  static Result<Operation> Make(v1::Collective collective, Size size, Output output, Place place,
                                Device& device);

  // Fills the input with numbers that depend on the rank, and the result with wrong ones.
  Status Fill();
  // May return before the operation is complete, if the ring queues.
  Status Run(Communicator& ring);
  // Returns how many numbers differ from the correct result of one completed Run after Fill.
  Result<uint64_t> CountWrong();

 private:
  // A range of numbers in a buffer.
  struct Range {
    uint64_t begin;
    uint64_t count;
  };

  Operation(v1::Collective collective, Size size, Place place)
      : collective_(collective), size_(size), place_(place) {}
  const float* in() { return data_->data() + in_.begin; }
  float* out() { return data_->data() + out_.begin; }
  // Returns the numbers that `number` yields for each position of the range.
  template <typename Number>
  Status Write(Range range, Number number);

  v1::Collective collective_;
  Size size_;
  Place place_;
  Range in_{};
  Range out_{};
  std::unique_ptr<Device::Buffer> data_;  // input and output
};

}  // namespace autodist::bench
