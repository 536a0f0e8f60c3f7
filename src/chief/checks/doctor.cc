#include "chief/checks/doctor.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <latch>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "base/deadline.h"
#include "base/disk_room.h"
#include "base/ip_address.h"
#include "base/parallel.h"
#include "chief/checks/preflight.h"
#include "chief/checks/reported_addresses.h"
#include "chief/fleet/node.h"
#include "chief/loop/loop.h"
#include "chief/loop/signal_watcher.h"
#include "diagnosis/issue_list.h"

namespace autodist::chief {
namespace {

using base::Deadline;

// An agent that has not received the shutdown by then stays until its lease ends. Nodes without a
// failure get more time, because the machines may be busy.
constexpr std::chrono::milliseconds kAgentsGoneLimit{10'000};
constexpr std::chrono::milliseconds kFailedAgentsGoneLimit{3'000};

// Ignores the events of agents that are about to leave.
class NullListener final : public NodeListener {
 public:
  void OnEvent(uint32_t, v1::AgentEvent) override {}
  void OnOutput(uint32_t, v1::Output) override {}
  void OnClosed(uint32_t, uint64_t, Status) override {}
};

using base::Deadline;
using std::chrono::milliseconds;

// To connect to a port; long enough for one retransmission.
constexpr milliseconds kPortLimit{1500};
constexpr milliseconds kAnswerLimit{10'000};
constexpr milliseconds kMessagesLimit{10'000};  // for the messages sent then
// To the next node in a ring, and to others: sent in one piece, as frameworks do. Either size
// reveals an MTU that is too large for the path; only the first fills all buffers.
constexpr uint64_t kLargeMessage = 8 << 20;
constexpr uint64_t kSmallMessage = 64 << 10;

using Nodes = std::vector<launch::LaunchedNode>;

// Replaces the planned data addresses by the reported ones for the following checks.
void EnterReportedAddresses(const Nodes& nodes, v1::LaunchPlan& plan) {
  const DataAddresses reported = ReportedAddresses(plan, nodes);
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    const auto own = reported.find(node.address());
    if (own == reported.end()) continue;
    node.set_data_address(own->second);
  }
}

std::string TokenOf(const v1::LaunchPlan& plan, uint32_t node) {
  return plan.job_id() + "." + std::to_string(node);
}

// Opens ports on every connected machine, then tries to connect to those of others.
class Mesh {
 public:
  Mesh(const diagnosis::Evidence& evidence, Nodes& nodes, uint32_t threads, bool full,
       std::stop_token stop)
      : plan_(*evidence.plan),
        nodes_(nodes),
        threads_(threads),
        fixed_port_(evidence.fixed_port),
        stop_(std::move(stop)) {
    const auto machines = diagnosis::MachinesOf(evidence);
    for (launch::LaunchedNode& node : nodes) {
      if (!node.link || !node.status.ok() || machines[node.node_rank] != node.node_rank) continue;
      reached_.push_back(node.node_rank);
    }
    full_ = full || reached_.size() <= kLargestFullMesh;
  }
  bool full() const { return full_; }

  void Run(diagnosis::Evidence& evidence) {
    evidence.port_issues.resize(nodes_.size());
    std::vector<v1::OpenPortsResponse> opened(nodes_.size());
    base::ParallelFor(reached_.size(), threads_, [&](size_t i) {
      const uint32_t node = reached_[i];
      opened[node] = Open(node, evidence.port_issues[node]);
    });
    std::vector<std::vector<diagnosis::PortTrial>> trials(nodes_.size());
    base::ParallelFor(reached_.size(), threads_, [&](size_t i) {
      trials[reached_[i]] = Try(i, opened, evidence.port_issues[reached_[i]]);
    });
    for (auto& of_node : trials) {
      for (auto& trial : of_node) evidence.trials.push_back(std::move(trial));
    }
  }

 private:
  v1::OpenPortsResponse Open(uint32_t node, std::string& issue) {
    v1::OpenPortsRequest request;
    const auto& ports = plan_.nodes(0).ports();
    const uint32_t rendezvous = plan_.master_port();
    if (std::ranges::count(ports, rendezvous) > 0) request.set_wanted_port(rendezvous);
    request.set_token(TokenOf(plan_, node));
    auto response = nodes_[node].link->OpenPorts(request, Deadline::After(kAnswerLimit), stop_);
    if (!response.ok()) {
      issue = Message(response.status());
      return {};
    }
    // Rank 0 has to listen on the rendezvous port, unless another port can be chosen; other nodes
    // do not. A port that was already reported as taken is not reported again.
    const auto& taken = nodes_[node].prepared.ports_taken();
    if (node == 0 && rendezvous == fixed_port_ && !response->wanted_error().empty() &&
        std::ranges::count(taken, rendezvous) == 0) {
      issue = "the rendezvous port " + std::to_string(rendezvous) +
              " cannot be opened: " + response->wanted_error();
    }
    return std::move(*response);
  }

  std::vector<diagnosis::PortTrial> Try(size_t place,
                                        const std::vector<v1::OpenPortsResponse>& opened,
                                        std::string& issue) {
    const uint32_t from = reached_[place];
    v1::TryPortsRequest request;
    request.set_limit_ms(static_cast<uint32_t>(kPortLimit.count()));
    std::vector<diagnosis::PortTrial> trials;
    for (const uint32_t target_place :
         MeshTargets(static_cast<uint32_t>(place), static_cast<uint32_t>(reached_.size()), full_)) {
      const uint32_t to = reached_[target_place];
      const v1::NodePlan& target_plan = plan_.nodes(static_cast<int>(to));
      // An address that is not the node's own is reported without trials.
      if (!diagnosis::HasDataAddress(target_plan, nodes_[to].prepared.facts())) continue;
      const bool next = target_place == (place + 1) % reached_.size();
      const auto add = [&](const std::string& address, uint32_t port) -> v1::PortTarget& {
        v1::PortTarget& target = *request.add_targets();
        target.set_address(address);
        target.set_port(port);
        target.set_token(TokenOf(plan_, to));
        return target;
      };
      if (const uint32_t port = opened[to].free_port(); port != 0) {
        add(target_plan.data_address(), port).set_payload(next ? kLargeMessage : kSmallMessage);
        trials.push_back({from, to, port, false, {}});
        for (const auto& [address, library] : OtherAddresses(to)) {
          add(address, port).set_payload(kSmallMessage);
          trials.push_back({from, to, port, false, {}, library, address});
        }
      }
      if (const uint32_t port = opened[to].wanted_port(); port != 0) {
        add(target_plan.data_address(), port);
        trials.push_back({from, to, port, true, {}});
      }
    }
    if (trials.empty()) return trials;
    const auto response = nodes_[from].link->TryPorts(
        request, Deadline::After(kPortLimit + kMessagesLimit + kAnswerLimit), stop_);
    if (!response.ok() || response->tries_size() != static_cast<int>(trials.size())) {
      issue = response.ok() ? "its agent did not answer all requests" : Message(response.status());
      return {};
    }
    for (size_t i = 0; i < trials.size(); ++i) {
      trials[i].outcome = response->tries(static_cast<int>(i));
    }
    return trials;
  }

  // Returns the addresses of a library's ranks other than the data address, with the library's
  // name.
  std::map<std::string, std::string> OtherAddresses(uint32_t node) const {
    const v1::NodePlan& plan = plan_.nodes(static_cast<int>(node));
    std::map<std::string, std::string> others;
    for (const v1::RankNetwork& network : nodes_[node].prepared.facts().rank_networks()) {
      const auto address = base::IpAddress::Parse(network.address());
      if (!address || address->IsLoopback() || address->IsLinkLocal()) continue;
      if (network.address() == plan.data_address()) continue;
      if (network.library() == "NCCL" && !diagnosis::HasGpus(plan)) continue;
      others.emplace(network.address(), network.library());
    }
    return others;
  }

  const v1::LaunchPlan& plan_;
  Nodes& nodes_;
  const uint32_t threads_;
  const uint32_t fixed_port_;
  const std::stop_token stop_;
  std::vector<uint32_t> reached_;
  bool full_ = true;  // each tries all others
};

}  // namespace

std::vector<launch::LaunchedNode> LaunchAll(
    launch::Launcher& launcher, size_t count,
    const std::function<void(launch::LaunchedNode& node)>& visit) {
  struct Launching {
    explicit Launching(size_t all) : nodes(all), left(static_cast<ptrdiff_t>(all)) {}
    std::vector<launch::LaunchedNode> nodes;
    std::latch left;
  };
  const auto launching = std::make_shared<Launching>(count);
  launcher.Start([launching, &visit](launch::LaunchedNode node) {
    if (visit) visit(node);
    const uint32_t number = node.node_rank;
    launching->nodes[number] = std::move(node);
    launching->left.count_down();
  });
  launching->left.wait();  // each node has a result in bounded time
  return std::move(launching->nodes);
}

void EndAgents(std::vector<launch::LaunchedNode>& nodes) {
  v1::ChiefMessage shutdown;
  shutdown.mutable_shutdown()->set_grace_ms(0);
  const Loop clock;
  NullListener listener;
  std::vector<std::unique_ptr<Node>> ending;
  for (launch::LaunchedNode& node : nodes) {
    if (!node.link) continue;
    ending.push_back(std::make_unique<Node>(node.node_rank, listener, clock));
    ending.back()->Connect(node.link);
    ending.back()->SendReliably(shutdown);
  }
  const Deadline gone = Deadline::After(kAgentsGoneLimit);
  const Deadline failed_gone = Deadline::After(kFailedAgentsGoneLimit);
  for (launch::LaunchedNode& node : nodes) {
    if (node.link) node.link->WaitClosed(node.status.ok() ? gone : failed_gone);
  }
}

Status VisitAllNodes(
    const v1::LaunchPlan& plan, launch::LaunchOptions options,
    const std::function<void(launch::LaunchedNode& node, const std::stop_token& stop)>& visit) {
  std::stop_source stop;
  const SignalWatcher signals([&](int) { stop.request_stop(); });
  options.prepare = false;
  AD_ASSIGN_OR_RETURN(const auto launcher, launch::Launcher::Create(plan, std::move(options)));
  const std::stop_callback cancel(stop.get_token(), [&] { launcher->Cancel(); });
  auto nodes = LaunchAll(*launcher, static_cast<size_t>(plan.nodes_size()),
                         [&](launch::LaunchedNode& node) { visit(node, stop.get_token()); });
  EndAgents(nodes);
  return stop.stop_requested() ? Error(StatusCode::kCancelled, "interrupted") : OkStatus();
}

std::vector<uint32_t> MeshTargets(uint32_t node, uint32_t nodes, bool full) {
  std::set<uint32_t> targets = {0, (node + nodes - 1) % nodes};
  for (uint32_t step = 1; step < nodes; step = full ? step + 1 : step * 2) {
    targets.insert((node + step) % nodes);
  }
  targets.erase(node);
  return {targets.begin(), targets.end()};
}

Status CheckFolderForLogs(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = fs::absolute(folder, error);
  while (!error && path.has_relative_path() && !fs::exists(path, error) && !error) {
    path = path.parent_path();
  }
  int code = error ? error.value() : 0;
  if (code == 0 && !fs::is_directory(path, error)) code = ENOTDIR;
  if (code == 0 && access(path.c_str(), W_OK | X_OK) != 0) code = errno;
  constexpr char kElsewhere[] = "--log-dir FOLDER puts them elsewhere";
  if (code != 0) {
    return WithRemedy(ErrnoError(code, "the job's logs cannot be written in " + path.string()),
                      kElsewhere);
  }
  struct statvfs disk {};
  const bool known = statvfs(path.c_str(), &disk) == 0 && disk.f_blocks > 0;
  // The file system may keep some blocks for root.
  const uint64_t room = (geteuid() == 0 ? disk.f_bfree : disk.f_bavail) * uint64_t{disk.f_frsize};
  const uint64_t size = disk.f_blocks * uint64_t{disk.f_frsize};
  if (!known || room >= base::kNoRoom) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kResourceExhausted, "the disk for the job's logs, with " + path.string() +
                                                ", " + base::RoomText(size, room)),
      kElsewhere);
}

Result<v1::Diagnosis> ProbeNodes(v1::LaunchPlan plan, launch::LaunchOptions options,
                                 const ProbeOptions& probe) {
  std::stop_source stop;
  const SignalWatcher signals([&](int) { stop.request_stop(); });
  const Preflight preflight(plan, true, true, probe.synced);
  options.probe = preflight.probe();
  const v1::JobRequest request = options.request;
  AD_ASSIGN_OR_RETURN(const auto launcher, launch::Launcher::Create(plan, std::move(options)));
  const std::stop_callback cancel(stop.get_token(), [&] { launcher->Cancel(); });
  Nodes nodes = LaunchAll(*launcher, static_cast<size_t>(plan.nodes_size()));
  EnterReportedAddresses(nodes, plan);
  diagnosis::Evidence evidence = preflight.EvidenceFrom(nodes);
  evidence.will_sync = request.sync();
  evidence.lacks_program_here = LacksProgramHere(plan);
  evidence.fixed_port = request.master_port();
  evidence.warnings = true;
  evidence.uncounted = probe.uncounted;
  evidence.logs_here = CheckFolderForLogs(request.log_dir());
  Mesh mesh(evidence, nodes, request.fan_out(), probe.full_mesh, stop.get_token());
  if (nodes.size() > 1) mesh.Run(evidence);
  EndAgents(nodes);
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "interrupted");
  v1::Diagnosis diagnosis = diagnosis::Diagnose(evidence);
  diagnosis.set_mesh_sampled(!mesh.full());
  return diagnosis;
}

}  // namespace autodist::chief
