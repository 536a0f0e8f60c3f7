// Runs programs on nodes through a program that executes its last arguments: `podman exec`, `docker
// exec`, `kubectl exec`. It runs on this machine, or on the node that SSH leads to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace autodist::exec {

class ExecTransport final : public transport::Transport {
 public:
  // `way`: runs the program itself; `argv`: its arguments; `where`: for messages; `image`: as for
  // ExecError.
  ExecTransport(std::unique_ptr<transport::Transport> way, std::vector<std::string> argv,
                std::string where, std::string image = "")
      : way_(std::move(way)),
        argv_(std::move(argv)),
        where_(std::move(where)),
        image_(std::move(image)) {}

  // The stream shows whether the container exists.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  const std::unique_ptr<transport::Transport> way_;
  const std::vector<std::string> argv_;
  const std::string where_;
  const std::string image_;
};

// Converts the error output of such a program, to a ProofOfEnd if the container has ended. OK if
// the output has no such message. `image`: from which autodist creates the container; empty: the
// user starts it.
Status ExecError(const std::string& said, const std::string& image = "");

// Fails if kubectl is missing here, or older than 1.31, which does not close the stdin of a program
// in a pod. Blocks for seconds at most.
Status CheckKubectl();

}  // namespace autodist::exec
