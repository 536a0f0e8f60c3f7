// Nodes reached over SSH.
#pragma once

#include "transport/ssh_session.h"
#include "transport/transport.h"

namespace autodist::transport {

// `loop` must outlive the transport and its streams.
class SshTransport final : public Transport {
 public:
  SshTransport(SshLoop& loop, SshTarget target) : loop_(loop), target_(std::move(target)) {}

  // The arguments reach the program through the user's login shell, quoted; give it constants
  // and words of our own only.
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;

 private:
  SshLoop& loop_;
  const SshTarget target_;
};

}  // namespace autodist::transport
