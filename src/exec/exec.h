// Runs programs on nodes by a program that runs what follows its own arguments: `podman exec`,
// `docker exec`, `kubectl exec`. On this machine, or on the node that SSH leads to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace autodist::exec {

class ExecTransport final : public transport::Transport {
 public:
  // `way`: where the program itself is run; `argv`: its words; `where`: for messages.
  ExecTransport(std::unique_ptr<transport::Transport> way, std::vector<std::string> argv,
                std::string where)
      : way_(std::move(way)), argv_(std::move(argv)), where_(std::move(where)) {}

  // Whether there is such a container shows in the stream.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  const std::unique_ptr<transport::Transport> way_;
  const std::vector<std::string> argv_;
  const std::string where_;
};

// What such a program has said of why it runs nothing; kAborted: the container is gone, or does not
// run. OK where it says nothing of its own.
Status ExecError(const std::string& said);

// Fails where the kubectl of this machine is none, or older than 1.31, which do not tell a program
// that its input has ended. Blocks for seconds at most.
Status CheckKubectl();

}  // namespace autodist::exec
