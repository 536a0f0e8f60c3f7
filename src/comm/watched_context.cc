#include "comm/watched_context.h"

#include <gloo/transport/context.h>
#include <gloo/types.h>

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/sigpipe_blocked.h"

namespace autodist {
namespace {

using gloo::transport::Pair;
using gloo::transport::UnboundBuffer;
using std::chrono::milliseconds;

constexpr milliseconds kForever = std::chrono::hours(24 * 365);
// The time to notify peers of the end, behind unread data of the last operation.
constexpr milliseconds kLeaveLimit{5'000};

constexpr uint8_t kLeavePrefix = 0x74;    // unused by Gloo
constexpr uint8_t kNothingPrefix = 0x75;  // never sent

uint64_t SlotOf(uint8_t prefix) { return gloo::Slot::build(prefix, 0); }

// Calls `body` for a peer that may be lost.
template <typename Body>
void IfThere(Body body) {
  try {
    body();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lost peer is ignored
  }
}

}  // namespace

class WatchedContext::Transport final : public gloo::transport::Context {
 public:
  explicit Transport(std::shared_ptr<gloo::transport::Context> gloo)
      : Context(gloo->rank, gloo->size), gloo_(std::move(gloo)) {
    setTimeout(gloo_->getTimeout());
  }

  std::unique_ptr<Pair>& getPair(int peer) override { return gloo_->getPair(peer); }
  std::unique_ptr<Pair>& createPair(int peer) override { return gloo_->createPair(peer); }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data, size_t bytes) override {
    return std::make_unique<Buffer>(*this, Unwatched(data, bytes));
  }
  std::unique_ptr<UnboundBuffer> Unwatched(void* data, size_t bytes) {
    return gloo_->createUnboundBuffer(data, bytes);
  }

  // Records the loss of a peer, and ends all waits.
  void Lose(const std::string& why) {
    const std::lock_guard lock(buffers_mutex_);
    lost_ = why;
    for (UnboundBuffer* buffer : buffers_) {
      buffer->abortWaitRecv();
      buffer->abortWaitSend();
    }
  }

 private:
  class Buffer final : public UnboundBuffer {
   public:
    Buffer(Transport& transport, std::unique_ptr<UnboundBuffer> gloo)
        : UnboundBuffer(gloo->ptr, gloo->size), transport_(transport), gloo_(std::move(gloo)) {
      const std::lock_guard lock(transport_.buffers_mutex_);
      transport_.ThrowIfLost();
      transport_.buffers_.insert(gloo_.get());
    }
    ~Buffer() override {
      const std::lock_guard lock(transport_.buffers_mutex_);
      transport_.buffers_.erase(gloo_.get());
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    bool waitRecv(int* peer, milliseconds timeout) override {
      return gloo_->waitRecv(peer, timeout) || transport_.Aborted();
    }
    bool waitSend(int* peer, milliseconds timeout) override {
      return gloo_->waitSend(peer, timeout) || transport_.Aborted();
    }
    void abortWaitRecv() override { gloo_->abortWaitRecv(); }
    void abortWaitSend() override { gloo_->abortWaitSend(); }
    void send(int peer, uint64_t slot, size_t offset, size_t bytes) override {
      gloo_->send(peer, slot, offset, bytes);
    }
    void recv(int peer, uint64_t slot, size_t offset, size_t bytes) override {
      gloo_->recv(peer, slot, offset, bytes);
    }
    void recv(std::vector<int> peers, uint64_t slot, size_t offset, size_t bytes) override {
      gloo_->recv(std::move(peers), slot, offset, bytes);
    }

   private:
    Transport& transport_;
    const std::unique_ptr<UnboundBuffer> gloo_;
  };

  void ThrowIfLost() const {
    if (!lost_.empty()) throw gloo::IoException(lost_);
  }
  // Called after an aborted wait. Throws if a peer is lost, because Gloo's operations ignore the
  // result.
  bool Aborted() {
    const std::lock_guard lock(buffers_mutex_);
    ThrowIfLost();
    return false;
  }

  const std::shared_ptr<gloo::transport::Context> gloo_;
  std::mutex buffers_mutex_;
  std::set<UnboundBuffer*> buffers_;  // owned by Gloo's contexts
  std::string lost_;                  // the first lost peer, with the reason; or ""
};

void WatchedContext::Connect(gloo::rendezvous::Store& store,
                             std::shared_ptr<gloo::transport::Device>& device) {
  connectFullMesh(store, device);
  transport_ = std::make_shared<Transport>(std::move(transportContext_));
  transportContext_ = transport_;
  leaves_ = transport_->Unwatched(nullptr, 0);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) leaves_->recv(peer, SlotOf(kLeavePrefix));
  }
  watch_ = std::thread([this] { AwaitPeers(); });
}

void WatchedContext::AwaitPeers() {
  try {
    for (int left = size - 1; left > 0; --left) {
      if (!leaves_->waitRecv(kForever)) return;
    }
  } catch (const std::exception& error) {
    transport_->Lose(error.what());
  }
}

void WatchedContext::Break() {
  broken_ = true;
  if (transport_) closeConnections();
}

void WatchedContext::TakeLeave() {
  std::vector<std::unique_ptr<UnboundBuffer>> leaves;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    IfThere([&] {
      auto leave = transport_->Unwatched(nullptr, 0);
      leave->recv(peer, SlotOf(kNothingPrefix));  // fails when the peer leaves, too
      leave->send(peer, SlotOf(kLeavePrefix));
      leaves.push_back(std::move(leave));
    });
  }
  for (const auto& leave : leaves) IfThere([&] { leave->waitSend(kLeaveLimit); });
}

WatchedContext::~WatchedContext() {
  if (!watch_.joinable()) return;
  const SigpipeBlocked blocked;
  if (!broken_) TakeLeave();
  leaves_->abortWaitRecv();
  watch_.join();
}

}  // namespace autodist
