// Repeats all-reduce until it fails, and prints the error; run by `autodist run`.
//   endless_ring [stubborn]        stubborn: ignores SIGTERM, so that the failure is printed
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "autodist/communicator.h"

namespace {

using autodist::Client;
using autodist::DataType;
using autodist::ReduceOp;
using autodist::Status;

constexpr size_t kNumbers = 1 << 20;  // large, so that a rank is nearly always in an operation

Status AddForever() {
  AD_ASSIGN_OR_RETURN(const auto client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const auto ring, autodist::MakeGlooCommunicator(*client));
  std::vector<float> numbers(kNumbers);
  for (bool first = true;; first = false) {
    AD_RETURN_IF_ERROR(
        ring->AllReduce(numbers.data(), numbers.size(), DataType::kFloat32, ReduceOp::kSum));
    if (!first) continue;
    std::printf("up %d\n", getpid());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "stubborn") == 0) signal(SIGTERM, SIG_IGN);
  const Status status = AddForever();
  std::printf("failed: %s\n", autodist::Message(status).c_str());
  return 3;
}
