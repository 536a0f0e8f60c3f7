#include "rpc/settings.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdlib>

namespace autodist::rpc {

void SilenceLogs() {
  google::protobuf::SetLogHandler(nullptr);
  if (!std::getenv("GRPC_VERBOSITY")) gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace autodist::rpc
