// The chief's own node: a child process, no SSH.
#pragma once

#include "transport/transport.h"

namespace autodist::transport {

class LocalTransport final : public Transport {
 public:
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;
};

}  // namespace autodist::transport
