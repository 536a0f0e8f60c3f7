#include "autodist/communicator.h"

namespace autodist {
namespace {

Status BuiltWithout() {
  return WithRemedy(Error(StatusCode::kUnimplemented, "this library was built without NCCL"),
                    "build it where NCCL and the CUDA toolkit are installed");
}

}  // namespace

Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client&, CommunicatorOptions) {
  return BuiltWithout();
}

Result<std::unique_ptr<NcclCommunicator>> MakeNcclStreamCommunicator(Client&, CUstream_st*,
                                                                     CommunicatorOptions) {
  return BuiltWithout();
}

}  // namespace autodist
