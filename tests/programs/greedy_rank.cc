// A rank that sends excessive gRPC requests, as any program may, prints the results, and ends when
// a file `end` exists; a second rank does nothing:
//   greedy_rank compressed   300 MB that have become 300 kB
//   greedy_rank barriers     1,000 barriers with names of 1 MB, and as many of 4 kB, all given up
//   greedy_rank gets         one value of 1 MiB, 1,500 times at once
//   greedy_rank stopped      one value of 1 MiB, 300 times at once; the other rank stops it, sets
//                            the value, and continues it at the end
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "autodist/v1/rendezvous.grpc.pb.h"

namespace autodist {
namespace {

using Stub = v1::RendezvousService::Stub;

template <typename Request, typename Response>
int Code(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), Stub& stub,
         const Request& request, grpc::ClientContext& context) {
  Response response;
  return (stub.*method)(&context, request, &response).error_code();
}

void Compressed(Stub& stub) {
  v1::SetRequest request;
  request.set_key("k");
  request.set_value(std::string(300'000'000, 'x'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  std::printf("compressed %d\n", Code(&Stub::Set, stub, request, context));
}

void Barriers(Stub& stub) {
  for (const size_t length : {1'000'000, 4'000}) {
    int code = 0;
    for (int i = 0; i < 1'000; ++i) {
      v1::BarrierRequest request;
      request.set_name(std::string(length, 'n') + std::to_string(i));
      grpc::ClientContext context;
      // The first are refused; the others time out.
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::milliseconds(length > 4'000 ? 10'000 : 2));
      code = Code(&Stub::Barrier, stub, request, context);
    }
    std::printf("barriers %d\n", code);
  }
}

int Set(Stub& stub, const std::string& key, const std::string& value) {
  v1::SetRequest request;
  request.set_key(key);
  request.set_value(value);
  grpc::ClientContext context;
  return Code(&Stub::Set, stub, request, context);
}

constexpr size_t kValue = 1 << 20;  // bytes

// Starts all calls at once; calls `begun` before it waits. Returns how many received the value.
size_t GetOften(Stub& stub, size_t times, const std::function<void()>& begun) {
  struct Call {
    grpc::ClientContext context;
    v1::GetRequest request;
    v1::GetResponse response;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Call> calls;
  size_t done = 0;
  size_t right = 0;
  for (size_t i = 0; i < times; ++i) {
    Call& call = calls.emplace_back();
    call.request.set_key("k");
    stub.async()->Get(&call.context, &call.request, &call.response,
                      [&](const grpc::Status& status) {
                        const std::lock_guard lock(mutex);
                        right += status.ok() && call.response.value().size() == kValue;
                        call.response.Clear();
                        ++done;
                        changed.notify_all();
                      });
  }
  begun();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done == times; });
  return right;
}

void Gets(Stub& stub) {
  std::printf("set %d\n", Set(stub, "k", std::string(kValue, 'v')));
  std::printf("gets %zu\n", GetOften(stub, 1'500, [] {}));
}

void AwaitEnd() {
  for (;;) {
    if (FILE* end = std::fopen("end", "r")) {
      std::fclose(end);
      return;
    }
    struct timespec wait {
      0, 10'000'000
    };
    nanosleep(&wait, nullptr);
  }
}

void Stopped(Stub& stub) {
  const auto begun = [&] { Set(stub, "pid", std::to_string(getpid())); };
  std::printf("gets %zu\n", GetOften(stub, 300, begun));
}

void StopTheOther(Stub& stub) {
  v1::GetRequest get;
  get.set_key("pid");
  v1::GetResponse response;
  grpc::ClientContext context;
  stub.Get(&context, get, &response);
  const pid_t pid = std::stoi(response.value());
  kill(pid, SIGSTOP);
  Set(stub, "k", std::string(kValue, 'v'));
  Set(stub, "", "");  // its answer follows those of the gets
  std::puts("measure");
  std::fflush(stdout);
  AwaitEnd();
  kill(pid, SIGCONT);
}

}  // namespace
}  // namespace autodist

int main(int argc, char** argv) {
  using namespace autodist;
  const std::string socket = std::string("unix:") + std::getenv("AUTODIST_AGENT_SOCKET");
  const auto stub = v1::RendezvousService::NewStub(
      grpc::CreateChannel(socket, grpc::InsecureChannelCredentials()));
  const std::string mode = argc > 1 ? argv[1] : "";
  const bool first = std::getenv("AUTODIST_RANK") == std::string("0");
  if (mode == "stopped") {
    first ? Stopped(*stub) : StopTheOther(*stub);
    return 0;
  }
  if (first) {
    if (mode == "compressed") Compressed(*stub);
    if (mode == "barriers") Barriers(*stub);
    if (mode == "gets") Gets(*stub);
    std::puts("measure");
    std::fflush(stdout);
  }
  AwaitEnd();
}
