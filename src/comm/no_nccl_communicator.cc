#include "autodist/communicator.h"

namespace autodist {

Result<std::unique_ptr<Communicator>> MakeNcclCommunicator(Client&, CommunicatorOptions) {
  return WithRemedy(Error(StatusCode::kUnimplemented, "this library was built without NCCL"),
                    "build it where NCCL and the CUDA toolkit are installed");
}

}  // namespace autodist
