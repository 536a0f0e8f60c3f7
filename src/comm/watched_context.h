// Gloo connections to all peers; the loss of a peer ends all operations in progress.
//
// Gloo reports a broken connection only to waits for messages of which no byte has been written or
// read (Pair::signalException); other waits would last until their timeout. A receive for which
// nothing is ever sent always gets the report. So there is one from each peer, and a thread that
// waits for them.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <memory>
#include <thread>

namespace autodist {

// As thread-safe as Gloo's context. Create buffers with createUnboundBuffer, as usual: after the
// loss of a peer it throws a gloo::IoException that names the peer, and so does every wait.
class WatchedContext final : public gloo::rendezvous::Context {
 public:
  using gloo::rendezvous::Context::Context;
  // Notifies the peers, unless Break was called, so that they continue among each other.
  ~WatchedContext() override;

  // Blocks until all peers are connected; call it first.
  void Connect(gloo::rendezvous::Store& store, std::shared_ptr<gloo::transport::Device>& device);

  // Closes all connections, and so ends the operations of the peers. Call it after a failure: then
  // buffers have been destroyed whose data may still be in transit.
  void Break();

 private:
  class Transport;

  void AwaitPeers();
  void TakeLeave();

  std::shared_ptr<Transport> transport_;
  std::unique_ptr<gloo::transport::UnboundBuffer> leaves_;  // empty; received from each peer
  bool broken_ = false;
  std::thread watch_;
};

}  // namespace autodist
