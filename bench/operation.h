// One collective operation on one size of data, whose result can be checked.
#pragma once

#include <cstdint>
#include <memory>

#include "autodist/communicator.h"
#include "autodist/v1/bench.pb.h"
#include "bandwidth.h"
#include "device.h"

namespace autodist::bench {

struct Place {  // of this rank in the job
  uint32_t rank;
  uint32_t world_size;
};

// Where the result goes.
enum class Output { kOutOfPlace, kInPlace };

// Whether the operation can be done with its result in the place of its input.
bool WorksInPlace(v1::Collective collective);

// Bytes of the buffers of an operation of this size.
uint64_t BytesNeeded(v1::Collective collective, Size size, Output output, uint32_t world_size);

// Not thread-safe.
class Operation {
 public:
  static Result<Operation> Make(v1::Collective collective, Size size, Output output, Place place,
                                Device& device);

  // Gives every rank numbers of its own, and the result none that are right.
  Status Fill();
  // May only queue it, as the ring does.
  Status Run(Communicator& ring);
  // How many numbers are not what one Run, which is done, makes of those of Fill.
  Result<uint64_t> CountWrong();

 private:
  // Numbers of a buffer.
  struct Range {
    uint64_t begin;
    uint64_t count;
  };

  Operation(v1::Collective collective, Size size, Place place)
      : collective_(collective), size_(size), place_(place) {}
  const float* in() { return data_->data() + in_.begin; }
  float* out() { return data_->data() + out_.begin; }
  // The numbers that `number` gives for each place of the range.
  template <typename Number>
  Status Write(Range range, Number number);

  v1::Collective collective_;
  Size size_;
  Place place_;
  Range in_{};
  Range out_{};
  std::unique_ptr<Device::Buffer> data_;  // both
};

}  // namespace autodist::bench
