#include "scale/simulated_job.h"

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace autodist::scale {
namespace {

class SimulatedStream final : public transport::Stream {
 public:
  explicit SimulatedStream(base::UniqueFd socket) : socket_(std::move(socket)) {}
  base::UniqueFd TakeSocket() override { return std::move(socket_); }
  std::string StderrTail() const override { return ""; }
  bool WaitClosed(base::Deadline) override { return true; }
  Status Failure() const override { return OkStatus(); }

 private:
  base::UniqueFd socket_;
};

class SimulatedTransport final : public transport::Transport {
 public:
  explicit SimulatedTransport(SimulatedNodes& nodes) : nodes_(nodes) {}
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token&) override {
    AD_ASSIGN_OR_RETURN(base::UniqueFd socket, nodes_.Run(argv));
    return std::make_unique<SimulatedStream>(std::move(socket));
  }

 private:
  SimulatedNodes& nodes_;
};

class SimulatedConnector final : public reach::Connector {
 public:
  explicit SimulatedConnector(SimulatedNodes& nodes) : nodes_(nodes) {}
  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach&,
                                                            ssh::SshLoop&) override {
    return std::make_unique<SimulatedTransport>(nodes_);
  }

 private:
  SimulatedNodes& nodes_;
};

std::string AddressOf(uint32_t node) {
  return "10." + std::to_string(node >> 16) + "." + std::to_string(node >> 8 & 255) + "." +
         std::to_string(node & 255);
}

}  // namespace

plan::Input JobInput(uint32_t nodes, uint32_t ranks) {
  plan::Input input;
  input.command = {"/bin/true"};
  input.job_id = "scale-" + base::RandomHex();
  input.user = {"user", "/home/user", "/tmp", ""};
  input.working_directory = "/tmp";
  input.master_port = 29'500;
  input.rank_port = 20'000;
  input.spec.ssh["lab"] = {};
  for (uint32_t i = 0; i <= nodes; ++i) {
    spec::Node& node = input.spec.nodes.emplace_back();
    node.address = AddressOf(i);
    node.chief = i == 0;
    if (i > 0) node.ssh_config = "lab";
    for (uint32_t gpu = 0; i > 0 && gpu < ranks; ++gpu) node.gpus.push_back(gpu);
    input.address_of[node.address] = {node.address, node.address, "", {}};
  }
  return input;
}

std::shared_ptr<reach::Connector> ConnectorTo(SimulatedNodes& nodes) {
  return std::make_shared<SimulatedConnector>(nodes);
}

}  // namespace autodist::scale
