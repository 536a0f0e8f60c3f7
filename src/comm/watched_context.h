// Gloo's connections to all peers, where a peer that is lost ends whatever is under way.
//
// Gloo tells of a broken connection only who waits for a message of which nothing has been written
// or read yet (Pair::signalException); who waits for the rest of one would do so until its
// time-out. A receive of which nothing ever comes is always told, so there is one from each peer,
// and a thread that waits for them.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <memory>
#include <thread>

namespace autodist {

// Thread-safe as far as Gloo's is. Buffers are made by createUnboundBuffer, as ever: once a peer is
// lost, each wait for one throws a gloo::IoException that says which peer, and so does making one.
class WatchedContext final : public gloo::rendezvous::Context {
 public:
  using gloo::rendezvous::Context::Context;
  // Takes leave, unless Break was called: peers that still wait for each other go on.
  ~WatchedContext() override;

  // Blocks until all peers are connected; before anything else.
  void Connect(gloo::rendezvous::Store& store, std::shared_ptr<gloo::transport::Device>& device);

  // Ends all connections, and so what peers do. To be called after a failure: nobody reads any more
  // what is still on its way to or from a buffer that has gone.
  void Break();

 private:
  class Transport;

  void AwaitPeers();
  void TakeLeave();

  std::shared_ptr<Transport> transport_;
  std::unique_ptr<gloo::transport::UnboundBuffer> leaves_;  // of no bytes; received from each peer
  bool broken_ = false;
  std::thread watch_;
};

}  // namespace autodist
