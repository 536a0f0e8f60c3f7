#include "scale/simulated_nodes.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "agent_sim/simulated_agent.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/unix_socket.h"
#include "base/wall_clock.h"
#include "files/digest.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/limits.h"
#include "rpc/server.h"
#include "rpc/settings.h"

namespace autodist::scale {
namespace {

// The first bytes of a connection to the agents' process. The rest belongs to the agent, unless the
// order is to fail.
struct Order {
  uint32_t node;
  bool fails;
  std::array<char, 64> nonce;  // of the connection; zero-terminated
};
constexpr ssize_t kOrderSize = sizeof(Order);

// Within this interval, a round, each node sends one sample in its turn.
constexpr std::chrono::milliseconds kSampleInterval{2'000};
constexpr uint32_t kSampleTurns = 100;

// The first of this many nodes has a fault of the hardware, with which ranks can run.
constexpr uint32_t kNodesPerFault = 8;

// Sets plausible facts of a cluster node.
void FillFacts(uint32_t node, const v1::PrepareRequest& request, v1::NodeInfo& facts) {
  facts.set_hostname("node" + std::to_string(node));
  facts.set_time_ns(base::NanosecondsSince1970());
  v1::InterfaceFact& interface = *facts.add_interfaces();
  interface.set_name("eth0");
  interface.set_address(request.node().data_address());
  for (const std::string& file : request.probe().files()) {
    facts.add_files()->set_digest(files::DigestOfFile(file).value_or(""));
  }
  facts.mutable_working_directory()->set_size(uint64_t{1} << 40);
  facts.mutable_working_directory()->set_free(uint64_t{1} << 39);
  facts.mutable_shared_memory()->set_size(uint64_t{1} << 36);
  facts.mutable_shared_memory()->set_free(uint64_t{1} << 36);
  facts.set_memlock_limit(UINT64_MAX);
  facts.set_open_files_limit(1 << 20);
  facts.set_program(request.node().ranks(0).argv(0));
  if (request.probe().health() && node % kNodesPerFault == 0) {
    v1::HardwareFault& fault = *facts.add_hardware_faults();
    fault.set_what("a memory module had errors, which were corrected");
    fault.set_source("kernel log");
    fault.set_remedy("have the module replaced if the number grows");
  }
}

class Agent;

// One connection of a chief to the agent. Destroys itself when it ends.
class Session final : public grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
 public:
  explicit Session(Agent& agent) : agent_(agent) {}

  void Begin() { StartRead(&message_); }
  // Call these with the agent's mutex locked.
  void Send(v1::AgentEvent event) {
    unwritten_.push_back(std::move(event));
    WriteNext();
  }
  bool has_unwritten() const { return !unwritten_.empty(); }
  void End(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) Finish(status);
  }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void WriteNext() {
    if (writing_ || unwritten_.empty() || ended_) return;
    writing_ = true;
    StartWrite(&unwritten_.front());
  }

  Agent& agent_;
  v1::ChiefMessage message_;
  // Guarded by the agent's mutex:
  std::deque<v1::AgentEvent> unwritten_;
  bool writing_ = false;
  bool ended_ = false;
};

class Agent final : private test::SimulatedAgent {
 public:
  Agent(uint32_t node, int news) : node_(node), news_(news) {}

  Status Prepare(const v1::PrepareRequest& request, v1::PrepareResponse& response) {
    const std::lock_guard lock(mutex_);
    Result<v1::PrepareResponse> prepared;
    SimulatedAgent::Prepare(request, [&](auto result) { prepared = std::move(result); });
    if (!prepared.ok()) return prepared.status();
    response = *std::move(prepared);
    sample_rounds_ = request.sample_ms() / static_cast<uint32_t>(kSampleInterval.count());
    FillFacts(node_, request, *response.mutable_facts());
    return OkStatus();
  }

  // Sends events to this session from now on.
  Session* OpenSession() {
    auto* const session = new Session(*this);
    const std::lock_guard lock(mutex_);
    session_ = session;
    return session;
  }

  void Sample(uint32_t round) {
    const std::lock_guard lock(mutex_);
    if (sample_rounds_ > 0 && (round + node_) % sample_rounds_ == 0) SendSample();
  }

  void Fail() {
    const std::lock_guard lock(mutex_);
    if (running().empty()) return;
    Exit(*running().begin(), 3);
    SendNews();
  }

 private:
  friend class Session;

  // mutex_ is locked, also for the functions below.
  bool Deliver(v1::AgentEvent event) override {
    if (session_) session_->Send(std::move(event));
    return session_ != nullptr;
  }
  void SendNews() const { (void)send(news_, &node_, sizeof node_, 0); }
  void Take(const v1::ChiefMessage& message) {
    Receive(message);
    if (message.has_start()) SendNews();
    EndIfDone();
  }
  void EndIfDone() {
    if (session_ && done() && !session_->has_unwritten()) session_->End(grpc::Status::OK);
  }

  const uint32_t node_;
  const int news_;
  std::mutex mutex_;
  // Guarded by mutex_, as is the simulated agent.
  uint32_t sample_rounds_ = 0;  // sends a sample in one of this many rounds
  Session* session_ = nullptr;  // the newest, while it exists
};

void Session::OnReadDone(bool ok) {
  if (!ok) return;
  {
    const std::lock_guard lock(agent_.mutex_);
    if (agent_.session_ == this) agent_.Take(message_);
  }
  StartRead(&message_);
}

void Session::OnWriteDone(bool ok) {
  const std::lock_guard lock(agent_.mutex_);
  writing_ = false;
  unwritten_.pop_front();
  if (ok) WriteNext();
  if (agent_.session_ == this) agent_.EndIfDone();
}

void Session::OnCancel() {
  const std::lock_guard lock(agent_.mutex_);
  End(grpc::Status::CANCELLED);
}

void Session::OnDone() {
  {
    const std::lock_guard lock(agent_.mutex_);
    if (agent_.session_ == this) agent_.session_ = nullptr;
  }
  delete this;
}

// All agents. The connection selects the agent that is called.
class Agents final : public v1::AgentService::CallbackService {
 public:
  explicit Agents(int news) : news_(news) {
    grpc::ServerBuilder builder;
    rpc::ConfigureServer(builder, rpc::kLargestFromChief);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    sampling_ = std::jthread([this](const std::stop_token& stop) { SampleUntil(stop); });
  }

  void Connect(uint32_t node, base::UniqueFd socket) {
    const std::string peer = "fd:" + std::to_string(socket.get());
    {
      const std::lock_guard lock(mutex_);
      const auto agent = agents_.try_emplace(node, node, news_).first;
      of_peer_[peer] = &agent->second;
    }
    grpc::AddInsecureChannelFromFd(server_.get(), socket.Release());
  }
  void Fail(uint32_t node) {
    const std::lock_guard lock(mutex_);
    agents_.at(node).Fail();
  }

 private:
  void SampleUntil(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    auto due = std::chrono::steady_clock::now();
    for (uint32_t turns = 0; !stop.stop_requested(); ++turns) {
      due += kSampleInterval / kSampleTurns;
      turn_.wait_until(lock, stop, due, [] { return false; });
      for (auto& [node, agent] : agents_) {
        if (node % kSampleTurns == turns % kSampleTurns) agent.Sample(turns / kSampleTurns);
      }
    }
  }

  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext* context,
                                    const v1::PrepareRequest* request,
                                    v1::PrepareResponse* response) override {
    const Status prepared = Of(*context).Prepare(*request, *response);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish({static_cast<grpc::StatusCode>(prepared.code()), Message(prepared)});
    return reactor;
  }
  grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* Session(
      grpc::CallbackServerContext* context) override {
    class Session* const session = Of(*context).OpenSession();
    session->Begin();
    return session;
  }
  Agent& Of(const grpc::CallbackServerContext& context) {
    const std::lock_guard lock(mutex_);
    return *of_peer_.at(context.peer());
  }

  const int news_;
  std::mutex mutex_;
  std::map<uint32_t, Agent> agents_;
  std::map<std::string, Agent*> of_peer_;
  std::unique_ptr<grpc::Server> server_;
  std::condition_variable_any turn_;
  std::jthread sampling_;  // last: uses the rest
};

// Sends the agent's greeting, and accepts any from the chief. False: the chief has gone.
bool Greet(int socket, const std::string& nonce) {
  const std::string ready = rpc::ReadyLine(nonce);
  if (send(socket, ready.data(), ready.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, rpc::kGreetingSize> greeting;
  const ssize_t got = recv(socket, greeting.data(), greeting.size(), MSG_WAITALL);
  return got == static_cast<ssize_t>(greeting.size());
}

void Serve(int listener, int news) {
  rpc::BeginProgram();
  Agents agents(news);
  while (base::WaitReadable(listener, base::Deadline::Never()).ok()) {
    base::UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    Order order;
    if (recv(socket.get(), &order, sizeof order, MSG_WAITALL) != kOrderSize) continue;
    if (order.fails) {
      agents.Fail(order.node);
    } else if (Greet(socket.get(), order.nonce.data()) && base::SetNonBlocking(socket.get()).ok()) {
      agents.Connect(order.node, std::move(socket));
    }
  }
}

Result<base::UniqueFd> Send(const std::string& path, const Order& order) {
  base::UniqueFd socket = base::ConnectToThisUser(path);
  if (send(socket.get(), &order, sizeof order, MSG_NOSIGNAL) != kOrderSize) {
    return ErrnoError(errno, "send to the simulated nodes");
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<SimulatedNodes>> SimulatedNodes::Start(const std::string& socket) {
  AD_ASSIGN_OR_RETURN(const base::UniqueFd listener, base::ListenAt(socket));
  AD_ASSIGN_OR_RETURN(base::FdPair news, base::StreamSocketPair());
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError(errno, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    news.first.Reset();
    Serve(listener.get(), news.second.get());
    _exit(0);
  }
  return std::unique_ptr<SimulatedNodes>(new SimulatedNodes(pid, socket, std::move(news.first)));
}

SimulatedNodes::~SimulatedNodes() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// PATH attach JOB NODE NONCE ...
Result<base::UniqueFd> SimulatedNodes::Run(const std::vector<std::string>& argv) {
  const auto attach = std::ranges::find(argv, "attach");
  Order order{};
  if (argv.end() - attach < 4 || attach[3].size() >= order.nonce.size()) {
    return Error(StatusCode::kInvalidArgument, "no agent is attached to");
  }
  order.node = static_cast<uint32_t>(std::stoul(attach[2]));
  std::ranges::copy(attach[3], order.nonce.begin());
  return Send(socket_, order);
}

Status SimulatedNodes::AwaitStarted(size_t nodes) {
  uint32_t node = 0;
  for (size_t started = 0; started < nodes; ++started) {
    if (recv(news_.get(), &node, sizeof node, MSG_WAITALL) <= 0) {
      return Error(StatusCode::kCancelled, "the job ended before");
    }
  }
  return OkStatus();
}

void SimulatedNodes::Cancel() { shutdown(news_.get(), SHUT_RDWR); }

Result<base::Deadline::Clock::time_point> SimulatedNodes::FailRankOf(uint32_t node) {
  const auto now = base::Deadline::Clock::now();
  AD_RETURN_IF_ERROR(Send(socket_, {.node = node, .fails = true, .nonce = {}}).status());
  return now;
}

}  // namespace autodist::scale
