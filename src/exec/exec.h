// Runs programs on nodes through a program that executes its last arguments: `podman exec`, `docker
// exec`, `kubectl exec`. It runs on this machine, or on the node that SSH leads to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace autodist::exec {

// For messages.
struct Container {
  std::string image = {};    // from which autodist creates it; "": the user starts it
  std::string runtime = {};  // "podman", "docker", "kubectl"; "": another program
  std::string name = {};     // of the container, for podman and docker
};

class ExecTransport final : public transport::Transport {
 public:
  // `way`: runs the program itself; `argv`: its arguments; `where`: for messages; `container`: as
  // for ExecError.
  ExecTransport(std::unique_ptr<transport::Transport> way, std::vector<std::string> argv,
                std::string where, Container container = {})
      : way_(std::move(way)),
        argv_(std::move(argv)),
        where_(std::move(where)),
        container_(std::move(container)) {}

  // The stream shows whether the container exists.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  const std::unique_ptr<transport::Transport> way_;
  const std::vector<std::string> argv_;
  const std::string where_;
  const Container container_;
};

// Converts the error output of such a program, to a ProofOfEnd if the container has ended. OK if
// the output has no such message.
Status ExecError(const std::string& said, const Container& container = {});

// Fails if kubectl is missing here, or older than 1.31, which does not close the stdin of a program
// in a pod. Blocks for seconds at most.
Status CheckKubectl();

}  // namespace autodist::exec
