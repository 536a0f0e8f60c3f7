#include "slurm/steps.h"

#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "base/ip_address.h"
#include "base/proof_of_end.h"
#include "base/random.h"
#include "base/thread.h"
#include "callback/callback_listener.h"
#include "launch/install_agent.h"
#include "process/spawn.h"
#include "reach/connector_factory.h"
#include "scripts/scripts.h"
#include "secure/key.h"
#include "slurm/allocation.h"
#include "slurm/sealed_key.h"
#include "slurm/srun.h"
#include "transfer/node_program.h"
#include "transport/local.h"

namespace autodist::slurm {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// For nodes to retry if this process is unreachable.
constexpr std::chrono::seconds kBeyondLease{60};
constexpr std::chrono::seconds kOverLimit{2};     // for nodes to connect and receive the job's end
constexpr std::chrono::seconds kStepEndLimit{5};  // for steps whose tasks have ended
constexpr std::chrono::seconds kCleanLimit{10};   // for what killed steps have left
constexpr size_t kMaxKept = 64 * 1024;            // bytes of tasks' output

// Returns the variables of --pass-env, which srun would send to the nodes unencrypted. Nodes get
// them like the rest of their environment. Variables that srun and the agent need are excluded.
std::vector<std::string> SecretVariables(const v1::LaunchPlan& plan) {
  std::set<std::string> names;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::EnvironmentStep& step : node.environment()) {
      const std::string& name = step.set().name();
      const bool needed =
          name == "PATH" || name == "HOME" || name.starts_with("LD_") || name.starts_with("SLURM_");
      if (step.set().secret() && !needed) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

// Returns the addresses under which nodes may reach this machine, if Slurm does not say.
std::vector<std::string> OwnHosts() {
  std::vector<std::string> hosts;
  const auto interfaces = base::LocalInterfaces();
  for (const base::Interface& own :
       interfaces.ok() ? *interfaces : std::vector<base::Interface>()) {
    if (own.address.IsLoopback() || own.address.IsLinkLocal()) continue;
    const std::string text = own.address.ToString();
    hosts.push_back(own.address.v6 ? "[" + text + "]" : text);
  }
  hosts.push_back(base::HostName());
  return hosts;
}

// One srun process, with a task on each node.
class Step {
 public:
  static Result<std::shared_ptr<Step>> Start(std::unique_ptr<transport::ProgramStream> srun,
                                             std::string key_line, std::string nonce,
                                             const transfer::NodeProgram& agent) {
    std::shared_ptr<Step> step(
        new Step(std::move(srun), std::move(key_line), std::move(nonce), agent));
    AD_ASSIGN_OR_RETURN(step->thread_, base::StartThread([&own = *step] { own.Serve(); }));
    return step;
  }
  ~Step() {
    Await(Deadline::After(milliseconds(0)));
    shutdown(socket_.get(), SHUT_RDWR);  // a child of srun may have the other end
    if (thread_.joinable()) thread_.join();
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  // Closes the tasks' stdin, for which some wait.
  void EndInput() { shutdown(socket_.get(), SHUT_WR); }

  // Waits for the end; kills it at the deadline.
  void Await(Deadline deadline) {
    if (!srun_->WaitClosed(deadline)) kill(-srun_->pid(), SIGKILL);
  }

  // Stop is requested when the step has ended.
  std::stop_token over() const { return over_.get_token(); }

  // Returns why it has ended.
  Status Failure() const {
    {
      const std::lock_guard lock(mutex_);
      AD_RETURN_IF_ERROR(failure_);
    }
    const std::string said = WithoutNotices(srun_->StderrTail());
    AD_RETURN_IF_ERROR(SrunError(said));
    return WithRemedy(Error(StatusCode::kUnavailable, "the Slurm step of the agent has ended" +
                                                          (said.empty() ? "" : ": " + said)),
                      "squeue and sacct show the reason");
  }

 private:
  Step(std::unique_ptr<transport::ProgramStream> srun, std::string key_line, std::string nonce,
       const transfer::NodeProgram& agent)
      : srun_(std::move(srun)),
        socket_(srun_->TakeSocket()),
        key_line_(std::move(key_line)),
        nonce_(std::move(nonce)),
        agent_(agent) {}

  void Serve() {
    Status status = base::WriteAll(socket_.get(), key_line_, Deadline::Never());
    // The failure is in srun's output.
    if (status.code() == StatusCode::kUnavailable) status = OkStatus();
    std::string seen;
    std::string machine;  // the machine type whose agent was sent
    while (status.ok()) {
      char bytes[4096];
      const auto got = base::ReadSome(socket_.get(), bytes, sizeof bytes, Deadline::Never());
      if (!got.ok() || *got == 0) break;
      for (const char byte : std::string_view(bytes, *got)) {
        seen += byte;
        if (byte != '\n') continue;
        if (const auto needs = launch::MachineInNeed(seen, nonce_))
          status = Supply(*needs, machine);
        if (!status.ok()) break;
      }
      if (seen.size() > kMaxKept) seen.clear();
    }
    if (!status.ok()) {
      const std::lock_guard lock(mutex_);
      failure_ = status;
      kill(srun_->pid(), SIGKILL);
    }
    srun_->WaitClosed(Deadline::Never());
    over_.request_stop();
  }

  // All tasks have the same stdin.
  Status Supply(const std::string& needs, std::string& machine) {
    if (needs == machine) return OkStatus();
    if (!machine.empty()) {
      return WithRemedy(Error(StatusCode::kFailedPrecondition,
                              "the nodes have two CPU architectures, " + machine + " and " + needs +
                                  "; a step can install the agent for one"),
                        "run `autodist doctor --slurm` once on nodes of each architecture: the "
                        "agent is kept there");
    }
    machine = needs;
    AD_ASSIGN_OR_RETURN(const bundle::Agent variant, agent_.For(needs));
    const Status sent = launch::SendProgram(socket_.get(), variant, [](uint64_t, uint64_t) {});
    // If srun has ended, its output has the reason.
    return sent.code() == StatusCode::kUnavailable ? OkStatus()
                                                   : Annotate(sent, "sending the agent");
  }

  const std::unique_ptr<transport::ProgramStream> srun_;
  const base::UniqueFd socket_;
  const std::string key_line_;
  const std::string nonce_;
  const transfer::NodeProgram& agent_;
  std::stop_source over_;
  mutable std::mutex mutex_;
  Status failure_;       // guarded by mutex_
  std::jthread thread_;  // last: uses the members above
};

// The steps of a job. Thread-safe.
class SlurmSteps {
 public:
  SlurmSteps(std::shared_ptr<callback::CallbackListener> nodes, transfer::NodeProgram agent,
             std::chrono::seconds patience, std::map<std::string, uint32_t> gpus,
             std::vector<std::string> secret, std::optional<std::string> munge)
      : nodes_(std::move(nodes)),
        agent_(std::move(agent)),
        patience_(patience),
        gpus_(std::move(gpus)),
        secret_(std::move(secret)),
        munge_(std::move(munge)) {}
  ~SlurmSteps() {
    CleanUp();
    nodes_->Dismiss(Deadline::After(kOverLimit));
    for (const auto& step : steps_) step->EndInput();
    const Deadline deadline = Deadline::After(kStepEndLimit);  // for all together
    for (const auto& step : steps_) step->Await(deadline);
  }

  Status StartAll() {
    std::map<uint32_t, std::vector<std::string>> alike;
    for (const auto& [node, gpus] : gpus_) alike[gpus].push_back(node);
    for (const auto& [gpus, nodes] : alike) AD_RETURN_IF_ERROR(Start(nodes));
    return OkStatus();
  }

  Result<std::unique_ptr<transport::Stream>> Run(const v1::CallbackReach& reach,
                                                 const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) {
    auto stream = RunInStep(reach, argv, stop);
    if (stream.ok() || stop.stop_requested() || !reach.step().restartable()) return stream;
    if (!NeedsAnother(reach.name())) return stream;
    AD_RETURN_IF_ERROR(Start({reach.name()}));
    return RunInStep(reach, argv, stop);
  }

 private:
  // Cleans nodes whose steps have ended: Slurm kills all processes of a step, so the files of
  // agents in /tmp remain.
  void CleanUp() {
    std::vector<std::string> nodes;
    for (const auto& [node, newest] : newest_) {
      if (newest.step->over().stop_requested()) nodes.push_back(node);
    }
    if (nodes.empty()) return;
    std::vector<std::string> argv = SrunArgv(nodes, 0, secret_);
    argv.insert(argv.end(), {"sh", "-c", scripts::Script({"own_folder", "clean_step"}), "sh"});
    for (const std::string& word : agent_.Versions()) argv.push_back(word);
    const auto srun = transport::StartProgram(argv);
    if (srun.ok()) (*srun)->WaitClosed(Deadline::After(kCleanLimit));
  }

  // Whether a new step would help: a step of this node alone may still wait for its start, if Slurm
  // is busy, until the node has connected from it.
  bool NeedsAnother(const std::string& node) const {
    const std::lock_guard lock(mutex_);
    const Newest& newest = newest_.at(node);
    return newest.step->over().stop_requested() || !newest.alone ||
           nodes_->Calls(node) > newest.calls_before;
  }

  // All nodes must have the same number of GPUs.
  Status Start(const std::vector<std::string>& nodes) {
    const std::string nonce = base::RandomHex();
    std::string key_line = secure::JobKeyLine(nodes_->job_key());
    if (munge_) {
      AD_ASSIGN_OR_RETURN(key_line, SealedKeyLine(key_line, *munge_));
    }
    std::vector<std::string> argv = SrunArgv(nodes, gpus_.at(nodes[0]), secret_);
    const auto task =
        launch::CallbackInstallArgv(agent_, nonce, patience_, nodes_->port(), OwnHosts(), munge_);
    argv.insert(argv.end(), task.begin(), task.end());
    AD_ASSIGN_OR_RETURN(auto srun, transport::StartProgram(argv));
    AD_ASSIGN_OR_RETURN(const auto step,
                        Step::Start(std::move(srun), std::move(key_line), nonce, agent_));
    const std::lock_guard lock(mutex_);
    for (const std::string& node : nodes) {
      newest_[node] = {step, nodes.size() == 1, nodes_->Calls(node)};
    }
    steps_.remove_if([](const auto& other) { return other->over().stop_requested(); });
    steps_.push_back(step);
    return OkStatus();
  }

  Result<std::unique_ptr<transport::Stream>> RunInStep(const v1::CallbackReach& reach,
                                                       const std::vector<std::string>& argv,
                                                       const std::stop_token& stop) {
    std::shared_ptr<Step> step;
    {
      const std::lock_guard lock(mutex_);
      step = newest_.at(reach.name()).step;
    }
    std::stop_source either;
    const auto request = [&either] { either.request_stop(); };
    const std::stop_callback stopped(stop, request);
    const std::stop_callback ended(step->over(), request);
    auto stream = nodes_->Run(reach.name(), argv, Deadline::After(milliseconds(reach.limit_ms())),
                              either.get_token());
    if (stream.ok() || stop.stop_requested() || !step->over().stop_requested() ||
        ProofOfEnd::In(stream.status())) {
      return stream;
    }
    return step->Failure();
  }

  const std::shared_ptr<callback::CallbackListener> nodes_;
  const transfer::NodeProgram agent_;
  const std::chrono::seconds patience_;
  const std::map<std::string, uint32_t> gpus_;  // by node
  const std::vector<std::string> secret_;       // variables
  const std::optional<std::string> munge_;      // munged's socket; nullopt: keys are not sealed
  struct Newest {
    std::shared_ptr<Step> step;
    bool alone = false;         // it has only this node
    uint64_t calls_before = 0;  // of the node
  };
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::map<std::string, Newest> newest_;  // by node
  std::list<std::shared_ptr<Step>> steps_;
};

class StepTransport final : public transport::Transport {
 public:
  StepTransport(SlurmSteps& steps, v1::CallbackReach reach)
      : steps_(steps), reach_(std::move(reach)) {}

  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override {
    return steps_.Run(reach_, argv, stop);
  }

 private:
  SlurmSteps& steps_;
  const v1::CallbackReach reach_;
};

class StepConnector final : public reach::Connector {
 public:
  StepConnector(const v1::LaunchPlan& plan, std::string agent_path, std::chrono::seconds patience)
      : agent_path_(std::move(agent_path)), patience_(patience), secret_(SecretVariables(plan)) {
    for (const v1::NodePlan& node : plan.nodes()) {
      others_.Prepare(node.reach());
      const v1::CallbackReach& callback = node.reach().callback();
      if (callback.has_step()) gpus_[callback.name()] = callback.step().gpus();
    }
  }

  Result<std::unique_ptr<transport::Transport>> TransportTo(const v1::Reach& reach,
                                                            ssh::SshLoop& loop) override {
    if (!reach.callback().has_step()) return others_.TransportTo(reach, loop);
    const std::lock_guard lock(mutex_);
    if (!steps_) AD_RETURN_IF_ERROR(Start(reach.callback()));
    return std::make_unique<StepTransport>(*steps_, reach.callback());
  }

 private:
  Status Start(const v1::CallbackReach& reach) {
    AD_ASSIGN_OR_RETURN(transfer::NodeProgram agent, transfer::NodeProgram::OfAgent(agent_path_));
    AD_ASSIGN_OR_RETURN(auto munge, SlurmMunge());
    AD_ASSIGN_OR_RETURN(auto nodes, others_.ListenerOf(reach));
    auto steps = std::make_unique<SlurmSteps>(std::move(nodes), std::move(agent), patience_, gpus_,
                                              secret_, std::move(munge));
    AD_RETURN_IF_ERROR(steps->StartAll());
    steps_ = std::move(steps);
    return OkStatus();
  }

  const std::string agent_path_;
  const std::chrono::seconds patience_;
  const std::vector<std::string> secret_;
  std::map<std::string, uint32_t> gpus_;
  reach::ConnectorFactory others_;  // and the listener
  std::mutex mutex_;
  std::unique_ptr<SlurmSteps> steps_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<reach::Connector> ConnectorFor(const v1::LaunchPlan& plan,
                                               const std::string& agent_path, milliseconds lease) {
  const bool in_steps = std::ranges::any_of(
      plan.nodes(), [](const v1::NodePlan& node) { return node.reach().callback().has_step(); });
  if (!in_steps) return reach::ConnectorFactory::For(plan);
  process::RaiseFileLimit();
  return std::make_shared<StepConnector>(
      plan, agent_path, std::chrono::ceil<std::chrono::seconds>(lease) + kBeyondLease);
}

}  // namespace autodist::slurm
