// Initialization of fuzzers that use gRPC.
#include <signal.h>

#include "rpc/settings.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  signal(SIGPIPE, SIG_IGN);
  autodist::rpc::BeginProgram();
  return 0;
}
