// Creates the transport to a node, whatever the connection method.
#pragma once

#include <memory>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "ssh/ssh_loop.h"
#include "transport/transport.h"

namespace autodist::reach {

// Thread-safe.
class Connector {
 public:
  virtual ~Connector() = default;

  // `loop` must outlive the transport. Fails if the node is known to be unreachable.
  virtual Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                                    ssh::SshLoop& loop) = 0;
};

}  // namespace autodist::reach
