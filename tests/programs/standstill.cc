// Repeats all-reduce with Gloo; in the third step, rank 2 does what the first argument says. Run by
// `autodist run`:
//   deadlock              two threads wait for each other's mutex
//   socket ADDRESS PORT   sends a request and waits for an answer
//   disk FILE             writes a file, and retries until it is complete
//   memory PROCS FILE     joins the control group whose processes file is PROCS, and reads FILE
//   cpu PROCS             joins it, and computes
//   compute               computes
//   network               no fault; all ranks reduce large data
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "autodist/communicator.h"

namespace {

using autodist::Client;
using autodist::DataType;
using autodist::ReduceOp;
using autodist::Status;

constexpr int kAt = 2;                                  // the step
constexpr size_t kFew = 16;                             // numbers
constexpr size_t kMany = 16 << 20;                      // numbers
constexpr size_t kCheckpoint = 64 << 20;                // bytes
constexpr std::chrono::milliseconds kBeforeRetry{100};  // delay before a program retries

std::mutex queue_mutex;
std::mutex cache_mutex;

[[noreturn]] void Fail(const char* what) {
  std::printf("failed: %s: %s\n", what, std::strerror(errno));
  std::exit(4);
}

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

// Asks a peer that is connected, and is disconnected before it answers.
void AskPeer(const char* address, const char* port) {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (inet_pton(AF_INET, address, &peer.sin_addr) != 1 ||
      connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
    Fail("connect");
  }
  char answer = 0;
  // The test blocks the network once the first answer has arrived.
  for (;;) {
    if (send(fd, "next", 4, MSG_NOSIGNAL) != 4) Fail("send");
    if (recv(fd, &answer, 1, 0) != 1) Fail("recv");
  }
}

void WriteCheckpoint(const char* path) {
  const std::vector<char> data(kCheckpoint);
  for (;;) {
    std::FILE* file = std::fopen(path, "w");
    if (file && std::fwrite(data.data(), 1, data.size(), file) == data.size()) return;
    if (file) std::fclose(file);
    std::this_thread::sleep_for(kBeforeRetry);
  }
}

void Join(const char* procs) {
  std::FILE* file = std::fopen(procs, "w");
  if (!file || std::fprintf(file, "%d", getpid()) < 0 || std::fclose(file) != 0) Fail(procs);
}

void Read(const char* path) {
  const int fd = open(path, O_RDONLY);
  const off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
  if (size <= 0 || fdatasync(fd) != 0) Fail(path);
  // drops cached pages, so that reading is charged to this control group
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  const auto bytes = static_cast<size_t>(size);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED || madvise(mapped, bytes, MADV_RANDOM) != 0) Fail("mmap");
  const auto* data = static_cast<const volatile char*>(mapped);
  std::mt19937 random;  // NOLINT: deterministic
  for (;;) (void)data[static_cast<size_t>(random()) % bytes];
}

void Compute() {
  volatile uint64_t count = 0;
  for (;;) count = count + 1;
}

void DoWhatIsOdd(char** argv) {
  const std::string cause = argv[1];
  if (cause == "deadlock") WaitForEachOther();
  if (cause == "socket") AskPeer(argv[2], argv[3]);
  if (cause == "disk") WriteCheckpoint(argv[2]);
  if (cause == "memory" || cause == "cpu") Join(argv[2]);
  if (cause == "memory") Read(argv[3]);
  if (cause == "cpu" || cause == "compute") Compute();
}

Status AddForever(char** argv) {
  AD_ASSIGN_OR_RETURN(const auto client, Client::Connect());
  AD_ASSIGN_OR_RETURN(const auto ring, autodist::MakeGlooCommunicator(*client));
  std::vector<float> numbers(std::strcmp(argv[1], "network") == 0 ? kMany : kFew);
  for (int step = 0;; ++step) {
    if (step == kAt - 1) {
      std::printf("step %d\n", step);
      std::fflush(stdout);
    }
    if (step == kAt && client->rank() == 2) DoWhatIsOdd(argv);
    const size_t count = step < kAt ? kFew : numbers.size();
    AD_RETURN_IF_ERROR(ring->AllReduce(numbers.data(), count, DataType::kFloat32, ReduceOp::kSum));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::printf("failed: %s\n", autodist::Message(AddForever(argv)).c_str());
  return 3;
}
