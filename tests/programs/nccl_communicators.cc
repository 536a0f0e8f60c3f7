// Tests the NCCL communicators with a stand-in for NCCL: what they queue, wait for and abort; run
// by `autodist run` with one rank.
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autodist/communicator.h"
#include "nccl_stand_in.h"

namespace {

using autodist::Client;
using autodist::DataType;
using autodist::NcclCommunicator;
using autodist::ReduceOp;
using autodist::Result;
using autodist::Status;
using stand_in::state;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kShort{50};
constexpr milliseconds kLong{20'000};  // no test may wait this long

float numbers[4];

Status Expect(bool right, const std::string& what) {
  return right ? autodist::OkStatus() : autodist::Error(autodist::StatusCode::kInternal, what);
}

Status ExpectFailure(const Status& status, const std::string& words) {
  return Expect(!status.ok() && autodist::Message(status).find(words) != std::string::npos,
                "not a failure with \"" + words + "\": " + autodist::Message(status));
}

Status Add(autodist::Communicator& ring) {
  return ring.AllReduce(numbers, 4, DataType::kFloat32, ReduceOp::kSum);
}

// After any failure, the communicator is aborted and all calls fail.
Status ExpectGivenUp(NcclCommunicator& ring, const std::string& why) {
  AD_RETURN_IF_ERROR(Expect(state.aborted == 1, "aborted, once"));
  AD_RETURN_IF_ERROR(Expect(!ring.comm(), "no communicator is handed out"));
  AD_RETURN_IF_ERROR(ExpectFailure(Add(ring), "all-reduce, after a failure: " + why));
  AD_RETURN_IF_ERROR(ExpectFailure(ring.Wait(kLong), ", after a failure: " + why));
  return Expect(!state.misused && state.aborted == 1, "NCCL is left alone");
}

Status QueuesAndWaits(NcclCommunicator& ring) {
  for (int i = 0; i < 3; ++i) AD_RETURN_IF_ERROR(Add(ring));
  AD_RETURN_IF_ERROR(Expect(state.queued.size() == 3 && state.polls == 0, "calls do not wait"));
  AD_RETURN_IF_ERROR(ring.Wait(kLong));
  AD_RETURN_IF_ERROR(Expect(state.polls == 1, "Wait does"));
  AD_RETURN_IF_ERROR(ring.Barrier());
  return Expect(state.polls == 2, "so does a barrier");
}

Status GoesOnAfterCallsOfNcclsOwn(NcclCommunicator& ring) {
  ncclAllGather(numbers, numbers, 1, ncclFloat32, ring.comm(), ring.stream());
  AD_RETURN_IF_ERROR(Add(ring));
  ncclGroupStart();
  AD_RETURN_IF_ERROR(Add(ring));
  AD_RETURN_IF_ERROR(ring.SendReceive(numbers, 0, numbers + 1, 0, 1, DataType::kFloat32));
  ncclGroupEnd();
  AD_RETURN_IF_ERROR(ring.Wait(kLong));
  return Expect(!state.misused, "each call comes when the one before is through");
}

Status ExchangesInAGroup(NcclCommunicator& ring) {
  AD_RETURN_IF_ERROR(ring.AllToAll(numbers, numbers + 1, 1, DataType::kFloat32));
  AD_RETURN_IF_ERROR(ring.SendReceive(numbers, 5, numbers + 1, 7, 1, DataType::kFloat32));
  const std::vector<std::string> all = {"send 0", "recv 0", "send 5", "recv 7"};
  AD_RETURN_IF_ERROR(Expect(state.queued == all && state.open_groups == 0, "in groups"));
  state.next_send = ncclInvalidArgument;
  AD_RETURN_IF_ERROR(
      ExpectFailure(ring.SendReceive(numbers, 5, numbers, 7, 1, DataType::kFloat32), "other"));
  AD_RETURN_IF_ERROR(Expect(state.open_groups == 0, "a group is closed after a failure"));
  return ExpectGivenUp(ring, "send and receive: other");
}

Status GivesUpWhenTheTimeIsOver(NcclCommunicator& ring) {
  state.device_is_stuck = true;
  AD_RETURN_IF_ERROR(Add(ring));
  const auto start = steady_clock::now();
  const Status waited = ring.Wait(kShort);
  AD_RETURN_IF_ERROR(Expect(steady_clock::now() - start >= kShort, "not before"));
  AD_RETURN_IF_ERROR(ExpectFailure(waited, "waiting for what is queued: a peer did not take part"));
  return ExpectGivenUp(ring, "waiting for what is queued");
}

Status GivesUpWhenAPeerHasGone(NcclCommunicator& ring) {
  state.device_is_stuck = true;
  AD_RETURN_IF_ERROR(Add(ring));
  state.peers = ncclRemoteError;
  AD_RETURN_IF_ERROR(ExpectFailure(ring.Wait(kLong), "remote process exited"));
  return ExpectGivenUp(ring, "waiting for what is queued: remote process exited");
}

Status TheNextCallFailsToo(NcclCommunicator& ring) {
  AD_RETURN_IF_ERROR(Add(ring));
  state.peers = ncclRemoteError;
  AD_RETURN_IF_ERROR(ExpectFailure(Add(ring), "all-reduce: remote process exited"));
  AD_RETURN_IF_ERROR(Expect(state.queued.size() == 1, "nothing more is queued"));
  return ExpectGivenUp(ring, "all-reduce: remote process exited");
}

Status OnStream(Client& client, const std::function<Status(NcclCommunicator&)>& check) {
  bool failed = false;
  {
    AD_ASSIGN_OR_RETURN(const auto ring,
                        autodist::MakeNcclStreamCommunicator(client, /*stream=*/nullptr, {kLong}));
    AD_RETURN_IF_ERROR(check(*ring));
    failed = !ring->comm();
  }
  const int ended = failed ? 0 : 1;  // an aborted communicator is not destroyed again
  return Expect(state.finalized == ended && state.destroyed == ended && !state.misused, "the end");
}

// The blocking communicator for small programs.
Status CallsBlock(Client& client) {
  AD_ASSIGN_OR_RETURN(const auto ring, autodist::MakeNcclCommunicator(client, {kShort}));
  AD_RETURN_IF_ERROR(Add(*ring));
  AD_RETURN_IF_ERROR(ring->Barrier());
  AD_RETURN_IF_ERROR(Expect(state.polls == 2, "each call waits"));
  state.device_is_stuck = true;
  AD_RETURN_IF_ERROR(ExpectFailure(Add(*ring), "all-reduce: a peer did not take part in time"));
  return Expect(state.aborted == 1 && !state.misused, "aborted");
}

Status Check() {
  AD_ASSIGN_OR_RETURN(const auto client, Client::Connect());
  const std::pair<const char*, Status (*)(NcclCommunicator&)> checks[] = {
      {"queues and waits", QueuesAndWaits},
      {"goes on after calls of NCCL's own", GoesOnAfterCallsOfNcclsOwn},
      {"exchanges in a group", ExchangesInAGroup},
      {"gives up when the time is over", GivesUpWhenTheTimeIsOver},
      {"gives up when a peer has gone", GivesUpWhenAPeerHasGone},
      {"the next call fails, too", TheNextCallFailsToo}};
  for (const auto& [name, check] : checks) {
    AD_RETURN_IF_ERROR(autodist::Annotate(OnStream(*client, check), name));
  }
  return autodist::Annotate(CallsBlock(*client), "calls block");
}

}  // namespace

int main() {
  const Status status = Check();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", autodist::Message(status).c_str());
    return 1;
  }
  std::printf("all is as it should be\n");
  return 0;
}
