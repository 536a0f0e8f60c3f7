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

// Bytes of the buffers of an operation of this size.
uint64_t BytesNeeded(v1::Collective collective, Size size, uint32_t world_size);

// Not thread-safe.
class Operation {
 public:
  static Result<Operation> Make(v1::Collective collective, Size size, Place place, Device& device);

  // Gives every rank numbers of its own.
  Status Fill();
  Status Run(Communicator& ring);
  // How many numbers are not what one Run makes of those of Fill.
  Result<uint64_t> CountWrong();

 private:
  Operation(v1::Collective collective, Size size, Place place)
      : collective_(collective), size_(size), place_(place) {}
  Device::Buffer& result() { return *(out_ ? out_ : in_); }

  v1::Collective collective_;
  Size size_;
  Place place_;
  uint64_t numbers_in_ = 0;
  uint64_t numbers_out_ = 0;
  std::unique_ptr<Device::Buffer> in_;
  std::unique_ptr<Device::Buffer> out_;  // null: the operation works in place
};

}  // namespace autodist::bench
