#include "chief/checks/doctor.h"

#include <chrono>

#include "base/parallel.h"
#include "chief/checks/mesh_targets.h"
#include "chief/checks/preflight.h"
#include "chief/checks/told_addresses.h"
#include "chief/checks/visit.h"
#include "chief/loop/loop.h"
#include "chief/loop/signal_watcher.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// To connect to a port; enough for one lost packet to be sent again.
constexpr milliseconds kPortLimit{1500};
constexpr milliseconds kAnswerLimit{10'000};

using Nodes = std::vector<launch::LaunchedNode>;

// What is looked at from here on.
void EnterToldAddresses(const Nodes& nodes, v1::LaunchPlan& plan) {
  const DataAddresses told = ToldAddresses(plan, nodes);
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    const auto own = told.find(node.address());
    if (own == told.end()) continue;
    node.set_data_address(own->second);
    node.set_ask_data_address(false);
  }
}

std::string TokenOf(const v1::LaunchPlan& plan, uint32_t node) {
  return plan.job_id() + "." + std::to_string(node);
}

// Every reached node opens ports, then tries those of others.
class Mesh {
 public:
  Mesh(const v1::LaunchPlan& plan, Nodes& nodes, uint32_t threads, bool full, std::stop_token stop)
      : plan_(plan), nodes_(nodes), threads_(threads), stop_(std::move(stop)) {
    for (launch::LaunchedNode& node : nodes) {
      if (node.link && node.status.ok()) reached_.push_back(node.node_rank);
    }
    full_ = full || reached_.size() <= kLargestFullMesh;
  }
  bool full() const { return full_; }

  void Run(diagnosis::Evidence& evidence) {
    evidence.port_problems.resize(nodes_.size());
    std::vector<v1::OpenPortsResponse> opened(nodes_.size());
    base::ParallelFor(reached_.size(), threads_, [&](size_t i) {
      const uint32_t node = reached_[i];
      opened[node] = Open(node, evidence.port_problems[node]);
    });
    std::vector<std::vector<diagnosis::PortTrial>> trials(nodes_.size());
    base::ParallelFor(reached_.size(), threads_, [&](size_t i) {
      trials[reached_[i]] = Try(i, opened, evidence.port_problems[reached_[i]]);
    });
    for (auto& of_node : trials) {
      for (auto& trial : of_node) evidence.trials.push_back(std::move(trial));
    }
  }

 private:
  v1::OpenPortsResponse Open(uint32_t node, std::string& problem) {
    v1::OpenPortsRequest request;
    request.set_wanted_port(plan_.master_port());
    request.set_token(TokenOf(plan_, node));
    auto response = nodes_[node].link->OpenPorts(request, Deadline::After(kAnswerLimit), stop_);
    if (!response.ok()) {
      problem = Message(response.status());
      return {};
    }
    // Rank 0 has to listen there; on other nodes it does not matter.
    if (node == 0 && response->wanted_port() == 0) {
      problem = "the rendezvous port " + std::to_string(plan_.master_port()) +
                " cannot be opened: " + response->wanted_error();
    }
    return std::move(*response);
  }

  std::vector<diagnosis::PortTrial> Try(size_t place,
                                        const std::vector<v1::OpenPortsResponse>& opened,
                                        std::string& problem) {
    const uint32_t from = reached_[place];
    v1::TryPortsRequest request;
    request.set_limit_ms(static_cast<uint32_t>(kPortLimit.count()));
    std::vector<diagnosis::PortTrial> trials;
    for (const uint32_t target_place :
         MeshTargets(static_cast<uint32_t>(place), static_cast<uint32_t>(reached_.size()), full_)) {
      const uint32_t to = reached_[target_place];
      const v1::NodePlan& target_plan = plan_.nodes(static_cast<int>(to));
      // That an address is not the node's own is told without everybody's try.
      if (!diagnosis::HasDataAddress(target_plan, nodes_[to].prepared.facts())) continue;
      for (const uint32_t port : {opened[to].free_port(), opened[to].wanted_port()}) {
        if (port == 0) continue;
        v1::PortTarget& target = *request.add_targets();
        target.set_address(target_plan.data_address());
        target.set_port(port);
        target.set_token(TokenOf(plan_, to));
        trials.push_back({from, to, port, port == opened[to].wanted_port(), {}});
      }
    }
    if (trials.empty()) return trials;
    const auto response =
        nodes_[from].link->TryPorts(request, Deadline::After(kPortLimit + kAnswerLimit), stop_);
    if (!response.ok() || response->tries_size() != static_cast<int>(trials.size())) {
      problem =
          response.ok() ? "its agent answers less than it was asked" : Message(response.status());
      return {};
    }
    for (size_t i = 0; i < trials.size(); ++i) {
      trials[i].outcome = response->tries(static_cast<int>(i));
    }
    return trials;
  }

  const v1::LaunchPlan& plan_;
  Nodes& nodes_;
  const uint32_t threads_;
  const std::stop_token stop_;
  std::vector<uint32_t> reached_;
  bool full_ = true;  // each tries all
};

}  // namespace

Result<v1::Diagnosis> ExamineNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                   bool full_mesh) {
  std::stop_source stop;
  const SignalWatcher signals([&](int) { stop.request_stop(); });
  Loop loop;
  const Preflight preflight(plan, true);
  options.examination = preflight.examination();
  const uint32_t threads = options.fan_out;
  AD_ASSIGN_OR_RETURN(const auto launcher, launch::Launcher::Create(plan, std::move(options)));
  const std::stop_callback cancel(stop.get_token(), [&] { launcher->Cancel(); });
  Nodes nodes = LaunchAll(*launcher, static_cast<size_t>(plan.nodes_size()), loop);
  EnterToldAddresses(nodes, plan);
  diagnosis::Evidence evidence = preflight.EvidenceFrom(nodes);
  Mesh mesh(plan, nodes, threads, full_mesh, stop.get_token());
  if (nodes.size() > 1) mesh.Run(evidence);
  EndAgents(nodes, loop);
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "interrupted");
  v1::Diagnosis diagnosis = diagnosis::Diagnose(evidence);
  diagnosis.set_mesh_sampled(!mesh.full());
  return diagnosis;
}

}  // namespace autodist::chief
