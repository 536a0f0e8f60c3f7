#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "autodist/communicator.h"
#include "comm/sigpipe_blocked.h"
#include "comm/watched_context.h"

namespace autodist {
namespace {

// Ranks create their communicators in the same order, so the number is the same on all of them.
std::atomic<int> gloo_communicators_made = 0;

// The store for the addresses of Gloo's ranks: our rendezvous.
class RendezvousStore final : public gloo::rendezvous::Store {
 public:
  RendezvousStore(Client& client, std::chrono::milliseconds timeout)
      : client_(client),
        timeout_(timeout),
        prefix_("gloo/" + std::to_string(++gloo_communicators_made) + "/") {}

  void set(const std::string& key, const std::vector<char>& data) override {
    Check(client_.Set(Key(key), {data.begin(), data.end()}));
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = client_.Get(Key(key), timeout_);
    Check(value.status());
    return {value->begin(), value->end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) Check(client_.Get(Key(key), timeout).status());
  }

 private:
  std::string Key(const std::string& key) const { return prefix_ + key; }
  // Gloo reports errors by exceptions; GlooCommunicator::Guard catches them.
  static void Check(const Status& status) {
    if (!status.ok()) throw gloo::Exception(Message(status));
  }

  Client& client_;
  const std::chrono::milliseconds timeout_;
  const std::string prefix_;
};

// Removes Gloo's source position: "[./gloo/transport/tcp/pair.cc:598] Connection closed by peer
// [10.0.0.2]:61579".
std::string WithoutSource(std::string text) {
  const size_t end = text.find("] ");
  if (text.starts_with('[') && end != std::string::npos) text.erase(0, end + 2);
  return text;
}

using ReduceFunction = void (*)(void*, const void*, const void*, size_t);

template <typename T>
ReduceFunction ReduceOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return &gloo::sum<T>;
    case ReduceOp::kProduct:
      return &gloo::product<T>;
    case ReduceOp::kMin:
      return &gloo::min<T>;
    case ReduceOp::kMax:
      break;
  }
  return &gloo::max<T>;
}

// Calls `body` with a value of the C++ type of `type`.
template <typename Body>
Status WithType(DataType type, Body body) {
  switch (type) {
    case DataType::kFloat32:
      return body(float{});
    case DataType::kFloat64:
      return body(double{});
    case DataType::kInt32:
      return body(int32_t{});
    case DataType::kInt64:
      return body(int64_t{});
    case DataType::kFloat16:
    case DataType::kBfloat16:
      break;
  }
  return Error(StatusCode::kUnimplemented, "16-bit floating point numbers are for GPUs only");
}

// An all-reduce in which every rank receives its part from all others and sends the sum to all: two
// steps, where a ring needs two for every rank. Peers may send as soon as it exists.
class DirectAllReduce {
 public:
  // Data and scratch stay the caller's.
  DirectAllReduce(gloo::Context& context, uint32_t tag, char* data, size_t count,
                  size_t element_size, std::vector<char>& scratch)
      : context_(context),
        gather_(gloo::Slot::build(kGatherPrefix, tag)),
        data_(data),
        count_(count),
        element_size_(element_size),
        scratch_(scratch) {
    const auto scatter = gloo::Slot::build(kScatterPrefix, tag);
    const size_t mine = Bytes(context.rank);
    scratch.resize(mine * static_cast<size_t>(context.size));
    sums_ = context.createUnboundBuffer(data, count * element_size);
    parts_ = context.createUnboundBuffer(scratch.data(), scratch.size());
    // The second message of a peer replaces what this rank sent to it in the first step.
    ForPeers([&](int peer) {
      if (mine > 0) parts_->recv(peer, scatter, InScratch(peer), mine);
      if (Bytes(peer) > 0) sums_->recv(peer, gather_, Begin(peer), Bytes(peer));
    });
    ForPeers([&](int peer) {
      if (Bytes(peer) > 0) sums_->send(peer, scatter, Begin(peer), Bytes(peer));
    });
  }

  // Blocks until data has the sums.
  void Finish(ReduceFunction reduce) {
    const auto timeout = context_.getTimeout();
    const size_t mine = Bytes(context_.rank);
    if (mine > 0) {
      ForPeers([&](int) { parts_->waitRecv(timeout); });
      char* const sum = data_ + Begin(context_.rank);
      ForPeers([&](int peer) {
        reduce(sum, sum, scratch_.data() + InScratch(peer), mine / element_size_);
      });
      ForPeers([&](int peer) { sums_->send(peer, gather_, Begin(context_.rank), mine); });
    }
    ForPeers([&](int peer) {
      if (Bytes(peer) > 0) sums_->waitRecv(timeout);
    });
    ForPeers([&](int peer) {
      if (Bytes(peer) > 0) sums_->waitSend(timeout);
      if (mine > 0) sums_->waitSend(timeout);
    });
  }

 private:
  static constexpr uint8_t kScatterPrefix = 0x72;  // unused by Gloo
  static constexpr uint8_t kGatherPrefix = 0x73;

  // Returns the begin of the rank's part in the data.
  size_t Begin(int rank) const {
    return count_ * static_cast<size_t>(rank) / static_cast<size_t>(context_.size) * element_size_;
  }
  size_t Bytes(int rank) const { return Begin(rank + 1) - Begin(rank); }

  size_t InScratch(int peer) const { return Bytes(context_.rank) * static_cast<size_t>(peer); }

  template <typename Body>
  void ForPeers(Body body) {
    for (int i = 1; i < context_.size; ++i) body((context_.rank + i) % context_.size);
  }

  gloo::Context& context_;
  const uint64_t gather_;
  char* const data_;
  const size_t count_;
  const size_t element_size_;
  std::vector<char>& scratch_;
  std::unique_ptr<gloo::transport::UnboundBuffer> sums_;   // the data
  std::unique_ptr<gloo::transport::UnboundBuffer> parts_;  // the scratch
};

class GlooCommunicator final : public Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> Create(Client& client,
                                                      const CommunicatorOptions& options) {
    auto communicator = std::make_unique<GlooCommunicator>();
    AD_RETURN_IF_ERROR(communicator->Guard("forming the ring", [&] {
      gloo::transport::tcp::attr attributes;
      attributes.hostname = client.node_address();
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      RendezvousStore store(client, options.timeout);
      communicator->context_ = std::make_shared<WatchedContext>(
          static_cast<int>(client.rank()), static_cast<int>(client.world_size()));
      communicator->context_->setTimeout(options.timeout);
      communicator->context_->Connect(store, device);
      return OkStatus();
    }));
    // No rank leaves before all have arrived.
    AD_RETURN_IF_ERROR(communicator->Barrier());
    return communicator;
  }

  Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op) override {
    if (count == 0) return OkStatus();
    return Guard("all-reduce", [&] {
      return WithType(type, [&](auto zero) {
        using T = decltype(zero);
        if (in != out) std::memcpy(out, in, count * sizeof(T));
        if (count * sizeof(T) <= kDirectPiece || context_->size <= kMaxDirectRanks) {
          AllReduceDirectly(static_cast<char*>(out), count, sizeof(T), ReduceOf<T>(op));
          return OkStatus();
        }
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
        options.setOutput(static_cast<T*>(out), count);
        options.setReduceFunction(ReduceOf<T>(op));
        options.setTag(NextTag());
        gloo::allreduce(options);
        return OkStatus();
      });
    });
  }

  Status Broadcast(const void* in, void* out, size_t count, DataType type, uint32_t root) override {
    if (count == 0) return OkStatus();
    return Guard("broadcast", [&] {
      const size_t bytes = count * SizeOf(type);
      const bool at_root = static_cast<uint32_t>(context_->rank) == root;
      if (at_root && in != out) std::memcpy(out, in, bytes);
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char*>(out), bytes);
      options.setRoot(static_cast<int>(root));
      options.setTag(NextTag());
      gloo::broadcast(options);
      return OkStatus();
    });
  }

  Status AllGather(const void* in, void* out, size_t count, DataType type) override {
    if (count == 0) return OkStatus();
    return Guard("all-gather", [&] {
      const size_t bytes = count * SizeOf(type);
      char* const all = static_cast<char*>(out);
      gloo::AllgatherOptions options(context_);
      // Without an input it works in place.
      if (in != all + bytes * static_cast<size_t>(context_->rank)) {
        options.setInput(static_cast<char*>(const_cast<void*>(in)), bytes);
      }
      options.setOutput(all, bytes * static_cast<size_t>(context_->size));
      options.setTag(NextTag());
      gloo::allgather(options);
      return OkStatus();
    });
  }

  Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                       ReduceOp op) override {
    if (count == 0) return OkStatus();
    return Guard("reduce-scatter", [&] {
      return WithType(type, [&](auto zero) {
        using T = decltype(zero);
        ReduceScatterRing(static_cast<const char*>(in), static_cast<char*>(out), count, sizeof(T),
                          ReduceOf<T>(op));
        return OkStatus();
      });
    });
  }

  Status AllToAll(const void* in, void* out, size_t count, DataType type) override {
    if (count == 0) return OkStatus();
    return Guard("all-to-all", [&] {
      const size_t bytes = count * SizeOf(type) * static_cast<size_t>(context_->size);
      gloo::AlltoallOptions options(context_);
      options.setInput(static_cast<char*>(const_cast<void*>(in)), bytes);
      options.setOutput(static_cast<char*>(out), bytes);
      options.setTag(NextTag());
      gloo::alltoall(options);
      return OkStatus();
    });
  }

  Status SendReceive(const void* in, uint32_t to, void* out, uint32_t from, size_t count,
                     DataType type) override {
    if (count == 0) return OkStatus();
    return Guard("send and receive", [&] {
      const size_t bytes = count * SizeOf(type);
      // Other ranks do not count this call; a pair's messages stay in order.
      const auto slot = gloo::Slot::build(kExchangePrefix, 0);
      if (static_cast<uint32_t>(context_->rank) == to) {
        std::memcpy(out, in, bytes);
        return OkStatus();
      }
      const auto sent = context_->createUnboundBuffer(const_cast<void*>(in), bytes);
      const auto received = context_->createUnboundBuffer(out, bytes);
      received->recv(static_cast<int>(from), slot);
      sent->send(static_cast<int>(to), slot);
      received->waitRecv(context_->getTimeout());
      sent->waitSend(context_->getTimeout());
      return OkStatus();
    });
  }

  Status Barrier() override {
    return Guard("barrier", [&] {
      gloo::BarrierOptions options(context_);
      options.setTag(NextTag());
      gloo::barrier(options);
      return OkStatus();
    });
  }

  Status Wait(std::chrono::milliseconds /*timeout*/) override {
    return failure_.ok() ? failure_ : AfterFailure("waiting");
  }

 private:
  static constexpr uint8_t kExchangePrefix = 0x76;  // unused by Gloo and WatchedContext

  Status AfterFailure(const char* what) const {
    return Annotate(failure_, std::string(what) + ", after a failure");
  }

  template <typename Body>
  Status Guard(const char* what, Body body) {
    if (!failure_.ok()) return AfterFailure(what);
    const SigpipeBlocked blocked;
    try {
      return Annotate(body(), what);
    } catch (const std::exception& error) {
      failure_ =
          Error(StatusCode::kUnavailable, std::string(what) + ": " + WithoutSource(error.what()));
      if (context_) context_->Break();
      return failure_;
    }
  }

  // Distinguishes calls that overlap in time on different ranks.
  uint32_t NextTag() { return ++tag_; }

  // Each piece is transferred while the previous one is added up.
  void AllReduceDirectly(char* data, size_t count, size_t element_size, ReduceFunction reduce) {
    const size_t most = kDirectPiece / element_size;
    std::unique_ptr<DirectAllReduce> before;
    for (size_t begin = 0, i = 0; begin < count; begin += most, ++i) {
      auto piece = std::make_unique<DirectAllReduce>(
          *context_, NextTag(), data + begin * element_size, std::min(most, count - begin),
          element_size, scratch_[i % scratch_.size()]);
      if (before) before->Finish(reduce);
      before = std::move(piece);
    }
    before->Finish(reduce);
  }

  // Each rank's part travels once around the ring; every rank adds its contribution, and the
  // complete sum arrives at the owner.
  void ReduceScatterRing(const char* in, char* out, size_t count, size_t element_size,
                         ReduceFunction reduce) {
    constexpr uint8_t kSlotPrefix = 0x71;  // unused by Gloo
    const size_t bytes = count * element_size;
    const int size = context_->size;
    const int rank = context_->rank;
    const auto part = [&](int offset) {
      return in + bytes * static_cast<size_t>((rank + offset + 2 * size) % size);
    };
    std::vector<char> outgoing(part(-1), part(-1) + bytes);
    std::vector<char> incoming(bytes);
    const auto send_buffer = context_->createUnboundBuffer(outgoing.data(), bytes);
    const auto receive_buffer = context_->createUnboundBuffer(incoming.data(), bytes);
    const auto slot = gloo::Slot::build(kSlotPrefix, NextTag());
    for (int step = 0; step + 1 < size; ++step) {
      receive_buffer->recv((rank + size - 1) % size, slot);
      send_buffer->send((rank + 1) % size, slot);
      receive_buffer->waitRecv(context_->getTimeout());
      send_buffer->waitSend(context_->getTimeout());
      reduce(outgoing.data(), incoming.data(), part(-step - 2), count);
    }
    std::memcpy(out, size == 1 ? in : outgoing.data(), bytes);
  }

  // The piece size for larger data; with more ranks a ring is used, where a switch has one sender
  // for each receiver.
  static constexpr size_t kDirectPiece = 8 << 20;
  static constexpr int kMaxDirectRanks = 8;

  std::shared_ptr<WatchedContext> context_;
  Status failure_;  // after a failure that only some ranks may have seen, all calls fail
  uint32_t tag_ = 0;
  std::array<std::vector<char>, 2> scratch_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> MakeGlooCommunicator(Client& client,
                                                           CommunicatorOptions options) {
  return GlooCommunicator::Create(client, options);
}

}  // namespace autodist
