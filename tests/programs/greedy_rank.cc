// A rank that asks for more than it should, by gRPC as anybody's program may use it, prints what
// came of it, and ends when its input does:
//   greedy_rank compressed   300 MB that have become 300 kB
//   greedy_rank barriers     1,000 barriers with names of 1 MB, and as many of 4 kB, all given up
//   greedy_rank gets         one value of 1 MiB, 1,500 times at once
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
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
      // The first are refused, and the others waited for until they are given up.
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::milliseconds(length > 4'000 ? 10'000 : 2));
      code = Code(&Stub::Barrier, stub, request, context);
    }
    std::printf("barriers %d\n", code);
  }
}

void Gets(Stub& stub) {
  constexpr size_t kCalls = 1'500;
  v1::SetRequest set;
  set.set_key("k");
  set.set_value(std::string(1 << 20, 'v'));
  grpc::ClientContext set_context;
  std::printf("set %d\n", Code(&Stub::Set, stub, set, set_context));
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
  for (size_t i = 0; i < kCalls; ++i) {
    Call& call = calls.emplace_back();
    call.request.set_key("k");
    stub.async()->Get(&call.context, &call.request, &call.response,
                      [&](const grpc::Status& status) {
                        const std::lock_guard lock(mutex);
                        right += status.ok() && call.response.value().size() == set.value().size();
                        call.response.Clear();
                        ++done;
                        changed.notify_all();
                      });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done == kCalls; });
  std::printf("gets %zu\n", right);
}

}  // namespace
}  // namespace autodist

int main(int argc, char** argv) {
  using namespace autodist;
  const std::string socket = std::string("unix:") + std::getenv("AUTODIST_AGENT_SOCKET");
  const auto stub = v1::RendezvousService::NewStub(
      grpc::CreateChannel(socket, grpc::InsecureChannelCredentials()));
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "compressed") Compressed(*stub);
  if (mode == "barriers") Barriers(*stub);
  if (mode == "gets") Gets(*stub);
  std::puts("measure");
  std::fflush(stdout);
  for (;;) {
    if (FILE* end = std::fopen("end", "r")) return std::fclose(end);
    struct timespec wait {
      0, 10'000'000
    };
    nanosleep(&wait, nullptr);
  }
}
