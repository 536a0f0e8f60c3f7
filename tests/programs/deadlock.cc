// Adds up numbers by Gloo with all other ranks; at the third time rank 2 has two threads that wait
// for each other's mutex. Run by `autodist run`.
#include <cstdio>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "autodist/communicator.h"

namespace {

using autodist::Client;
using autodist::DataType;
using autodist::ReduceOp;
using autodist::Status;

constexpr int kAt = 2;  // the step

std::mutex queue_mutex;
std::mutex cache_mutex;

void LockBoth(std::mutex& first, std::mutex& second, std::latch& both_have_one) {
  const std::lock_guard lock(first);
  both_have_one.arrive_and_wait();
  const std::lock_guard other(second);
}

void WaitForEachOther() {
  std::latch both_have_one(2);
  std::jthread filler([&] { LockBoth(cache_mutex, queue_mutex, both_have_one); });
  LockBoth(queue_mutex, cache_mutex, both_have_one);
}

Status AddForever() {
  AD_ASSIGN_OR_RETURN(const auto client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const auto ring, autodist::MakeGlooCommunicator(*client));
  std::vector<float> numbers(16);
  for (int step = 0;; ++step) {
    if (step == kAt - 1) {
      std::printf("step %d\n", step);
      std::fflush(stdout);
    }
    if (step == kAt && client->rank() == 2) WaitForEachOther();
    AD_RETURN_IF_ERROR(
        ring->AllReduce(numbers.data(), numbers.size(), DataType::kFloat32, ReduceOp::kSum));
  }
}

}  // namespace

int main() {
  std::printf("failed: %s\n", autodist::Message(AddForever()).c_str());
  return 3;
}
