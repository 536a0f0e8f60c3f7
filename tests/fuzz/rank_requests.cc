// libFuzzer: every request of ranks to the agent ends, and what the agent keeps of them stays
// within its limit. The input is a sequence of records: a byte that chooses the action, and for a
// call its length and its bytes.
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "fuzz/check.h"
#include "rpc/settings.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

constexpr uint32_t kMaxRequestLength = 1 << 20;
constexpr size_t kMaxCalls = 64;
constexpr std::chrono::seconds kLimit{5};

// The ranks of a node, and the chief.
class Played {
 public:
  Played() : ranks_(v1::RendezvousService::NewStub(agent_.server->Channel())) {}
  ~Played() {
    for (Call& call : calls_) call.context.TryCancel();
    std::unique_lock lock(mutex_);
    Check(changed_.wait_for(lock, kLimit,
                            [this] { return std::ranges::all_of(calls_, &Call::done); }),
          "a call does not end");
  }

  void Ask(uint8_t kind, const std::string& bytes) {
    if (calls_.size() >= kMaxCalls) return;
    Call& call = calls_.emplace_back();
    const auto done = [this, &call](const grpc::Status&) {
      const std::lock_guard lock(mutex_);
      call.done = true;
      changed_.notify_all();
    };
    auto* async = ranks_->async();
    bool parsed = false;
    if (kind == 0 && (parsed = call.set.ParseFromString(bytes))) {
      async->Set(&call.context, &call.set, &call.set_response, done);
    } else if (kind == 1 && (parsed = call.get.ParseFromString(bytes))) {
      async->Get(&call.context, &call.get, &call.get_response, done);
    } else if (kind == 2 && (parsed = call.barrier.ParseFromString(bytes))) {
      async->Barrier(&call.context, &call.barrier, &call.barrier_response, done);
    }
    if (!parsed) calls_.pop_back();
    Check(agent_.events->size() < 2 * RendezvousService::kMaxWaiting, "too much is kept");
  }
  void CancelOne(uint8_t which) {
    if (calls_.empty()) return;
    std::next(calls_.begin(), which % static_cast<std::ptrdiff_t>(calls_.size()))
        ->context.TryCancel();
  }
  void Reply(const std::string& bytes) {
    v1::RendezvousReply reply;
    if (reply.ParseFromString(bytes)) agent_.rendezvous->Reply(reply);
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::SetRequest set;
    v1::SetResponse set_response;
    v1::GetRequest get;
    v1::GetResponse get_response;
    v1::BarrierRequest barrier;
    v1::BarrierResponse barrier_response;
    bool done = false;
  };

  test::SmallAgent agent_;
  const std::unique_ptr<v1::RendezvousService::Stub> ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Call> calls_;
};

}  // namespace
}  // namespace autodist::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace autodist::agent;
  Played played;
  google::protobuf::io::CodedInputStream input(data, static_cast<int>(size));
  for (uint8_t chosen = 0; input.ReadRaw(&chosen, 1);) {
    if (chosen % 5 == 4) {
      played.CancelOne(chosen / 5);
      continue;
    }
    uint32_t length = 0;
    std::string bytes;
    if (!input.ReadVarint32(&length)) break;
    const int left = static_cast<int>(size) - input.CurrentPosition();
    input.ReadString(&bytes, std::min(static_cast<int>(length % kMaxRequestLength), left));
    if (chosen % 5 == 3) {
      played.Reply(bytes);
    } else {
      played.Ask(chosen % 5, bytes);
    }
  }
  return 0;
}
