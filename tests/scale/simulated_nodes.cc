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
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "autodist/v1/agent.grpc.pb.h"
#include "base/wall_clock.h"
#include "files/digest.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/limits.h"
#include "rpc/server.h"
#include "rpc/settings.h"
#include "scale/made_up_sample.h"

namespace autodist::scale {
namespace {

constexpr size_t kLongestOrder = 16 << 10;  // bytes: the arguments of `attach`
constexpr char kFail[] = "fail";
// All nodes tell how they are, one after the other, within this time.
constexpr std::chrono::milliseconds kSampleInterval{2'000};
constexpr uint32_t kSampleTurns = 100;

// An agent, and the one session that its chief has with it.
class Agent final : public grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
 public:
  Agent(uint32_t node, int news) : node_(node), news_(news) {}

  void Prepare(const v1::PrepareRequest& request, v1::PrepareResponse& response) {
    const std::lock_guard lock(mutex_);
    ranks_.clear();
    sampled_ = request.sample_ms() > 0;
    for (const v1::RankPlan& rank : request.node().ranks()) ranks_.insert(rank.rank());
    v1::NodeFacts& facts = *response.mutable_facts();
    facts.set_hostname("node" + std::to_string(node_));
    facts.set_time_ns(base::NanosecondsSince1970());
    v1::InterfaceFact& interface = *facts.add_interfaces();
    interface.set_name("eth0");
    interface.set_address(request.node().data_address());
    for (const std::string& file : request.examination().files()) {
      facts.add_files()->set_digest(files::DigestOfFile(file).value_or(""));
    }
    facts.mutable_working_directory()->set_size(uint64_t{1} << 40);
    facts.mutable_working_directory()->set_free(uint64_t{1} << 39);
    facts.mutable_shared_memory()->set_size(uint64_t{1} << 36);
    facts.mutable_shared_memory()->set_free(uint64_t{1} << 36);
    facts.set_memlock_limit(UINT64_MAX);
    facts.set_open_files_limit(1 << 20);
    facts.set_program(request.node().ranks(0).argv(0));
  }

  void BeginSession() { StartRead(&message_); }

  void Sample() {
    const std::lock_guard lock(mutex_);
    if (running_.empty() || !sampled_) return;
    v1::AgentEvent event;
    *event.mutable_sample() = MadeUpSample(running_, ++samples_);
    Tell(std::move(event));
  }

  void Fail() {
    const std::lock_guard lock(mutex_);
    if (running_.empty()) return;
    TellExit(*running_.begin(), 3);
    running_.erase(running_.begin());
    TellNews();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      const std::lock_guard lock(mutex_);
      acknowledged_ = std::max(acknowledged_, message_.acknowledged());
      orders_taken_ = std::max(orders_taken_, message_.sequence());
      Handle();
      EndIfDone();
    }
    StartRead(&message_);
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    events_.pop_front();
    if (ok) WriteNext();
    EndIfDone();
  }
  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override {}

  // Of message_; mutex_ held, as for what follows.
  void Handle() {
    v1::AgentEvent event;
    switch (message_.message_case()) {
      case v1::ChiefMessage::kResume:
        event.mutable_resumed()->set_instance(node_ + 1);
        return Tell(std::move(event));
      case v1::ChiefMessage::kStart:
        running_ = ranks_;
        for (const uint32_t rank : running_) {
          event.mutable_rank_started()->set_rank(rank);
          event.mutable_rank_started()->set_pid(static_cast<int32_t>(rank) + 2);
          TellReliably(event);
        }
        return TellNews();
      case v1::ChiefMessage::kRenewLease:
        event.mutable_lease_renewed()->set_number(message_.renew_lease().number());
        event.mutable_lease_renewed()->set_time_ns(base::NanosecondsSince1970());
        return Tell(std::move(event));
      case v1::ChiefMessage::kShutdown:
        leaving_ = true;
        [[fallthrough]];
      case v1::ChiefMessage::kEnd:
      case v1::ChiefMessage::kStop:
        for (const uint32_t rank : std::exchange(running_, {})) TellExit(rank, std::nullopt);
        if (message_.has_stop()) return;
        event.mutable_ranks_ended();
        return TellReliably(std::move(event));
      default:
        return;
    }
  }

  void TellExit(uint32_t rank, std::optional<int> code) {
    v1::AgentEvent event;
    v1::RankExited& exited = *event.mutable_rank_exited();
    exited.set_rank(rank);
    exited.set_pid(static_cast<int32_t>(rank) + 2);
    exited.set_time_ns(base::NanosecondsSince1970());
    if (code) {
      exited.set_exit_code(*code);
    } else {
      exited.set_signal(SIGTERM);
    }
    TellReliably(std::move(event));
  }
  void TellReliably(v1::AgentEvent event) {
    event.set_sequence(++sequence_);
    Tell(std::move(event));
  }
  void Tell(v1::AgentEvent event) {
    event.set_acknowledged(orders_taken_);
    events_.push_back(std::move(event));
    WriteNext();
  }
  void WriteNext() {
    if (writing_ || events_.empty() || ended_) return;
    writing_ = true;
    StartWrite(&events_.front());
  }
  void TellNews() const { (void)send(news_, &node_, sizeof node_, 0); }
  void EndIfDone() {
    if (leaving_ && events_.empty() && acknowledged_ == sequence_) End(grpc::Status::OK);
  }
  void End(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) Finish(status);
  }

  const uint32_t node_;
  const int news_;
  v1::ChiefMessage message_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::set<uint32_t> ranks_;
  std::set<uint32_t> running_;
  bool sampled_ = false;
  uint32_t samples_ = 0;
  std::deque<v1::AgentEvent> events_;  // not yet written
  uint64_t sequence_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t orders_taken_ = 0;
  bool writing_ = false;
  bool leaving_ = false;
  bool ended_ = false;
};

// All agents. Which one is called is told by the connection.
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
    for (uint32_t turn = 0; !stop.stop_requested(); turn = (turn + 1) % kSampleTurns) {
      due += kSampleInterval / kSampleTurns;
      turn_.wait_until(lock, stop, due, [] { return false; });
      for (auto& [node, agent] : agents_) {
        if (node % kSampleTurns == turn) agent.Sample();
      }
    }
  }

  grpc::ServerUnaryReactor* Prepare(grpc::CallbackServerContext* context,
                                    const v1::PrepareRequest* request,
                                    v1::PrepareResponse* response) override {
    Of(*context).Prepare(*request, *response);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* Session(
      grpc::CallbackServerContext* context) override {
    Agent& agent = Of(*context);
    agent.BeginSession();
    return &agent;
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

// Says that it is there, and takes the greeting: any will do. False: the chief has gone.
bool Greet(int socket, const std::string& nonce) {
  const std::string ready = rpc::ReadyLine(nonce);
  if (send(socket, ready.data(), ready.size(), MSG_NOSIGNAL) < 0) return false;
  std::array<char, rpc::kGreetingSize> greeting;
  const ssize_t got = recv(socket, greeting.data(), greeting.size(), MSG_WAITALL);
  return got == static_cast<ssize_t>(greeting.size());
}

// A message, and the socket that came with it.
std::pair<std::string, base::UniqueFd> Receive(int orders) {
  std::string order(kLongestOrder, '\0');
  iovec part{order.data(), order.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(orders, &message, MSG_CMSG_CLOEXEC);
  order.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  base::UniqueFd socket;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message)) {
    socket.Reset(*reinterpret_cast<const int*>(CMSG_DATA(header)));
  }
  return {std::move(order), std::move(socket)};
}

std::vector<std::string> Words(const std::string& order) {
  std::vector<std::string> words;
  for (size_t at = 0; at < order.size(); at += words.back().size() + 1) {
    words.emplace_back(order.c_str() + at);
  }
  return words;
}

void Serve(int orders, int news) {
  rpc::BeginProgram();
  Agents agents(news);
  for (;;) {
    auto [order, socket] = Receive(orders);
    const std::vector<std::string> words = Words(order);
    if (words.empty()) return;
    if (words[0] == kFail) {
      agents.Fail(static_cast<uint32_t>(std::stoul(words[1])));
      continue;
    }
    // PATH attach JOB NODE NONCE ...
    const auto attach = std::ranges::find(words, "attach");
    if (words.end() - attach < 4 || !Greet(socket.get(), attach[3])) continue;
    if (!base::SetNonBlocking(socket.get()).ok()) continue;
    agents.Connect(static_cast<uint32_t>(std::stoul(attach[2])), std::move(socket));
  }
}

Status Send(int orders, const std::vector<std::string>& words, int socket) {
  std::string order;
  for (const std::string& word : words) order += word + '\0';
  iovec part{order.data(), order.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (socket >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(header)) = socket;
  }
  return sendmsg(orders, &message, MSG_NOSIGNAL) < 0 ? ErrnoError(errno, "sendmsg") : OkStatus();
}

Result<base::FdPair> MessageSockets() {
  std::array<int, 2> sockets;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return ErrnoError(errno, "socketpair");
  }
  return base::FdPair{base::UniqueFd(sockets[0]), base::UniqueFd(sockets[1])};
}

}  // namespace

Result<std::unique_ptr<SimulatedNodes>> SimulatedNodes::Start() {
  AD_ASSIGN_OR_RETURN(base::FdPair orders, MessageSockets());
  AD_ASSIGN_OR_RETURN(base::FdPair news, MessageSockets());
  const pid_t pid = fork();
  if (pid < 0) return ErrnoError(errno, "fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    orders.first.Reset();
    news.first.Reset();
    Serve(orders.second.get(), news.second.get());
    _exit(0);
  }
  return std::unique_ptr<SimulatedNodes>(
      new SimulatedNodes(pid, std::move(orders.first), std::move(news.first)));
}

SimulatedNodes::~SimulatedNodes() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<base::UniqueFd> SimulatedNodes::Run(const std::vector<std::string>& argv) {
  AD_ASSIGN_OR_RETURN(base::FdPair sockets, base::StreamSocketPair());
  AD_RETURN_IF_ERROR(Send(orders_.get(), argv, sockets.second.get()));
  return std::move(sockets.first);
}

Status SimulatedNodes::AwaitStarted(size_t nodes) {
  uint32_t node = 0;
  for (size_t started = 0; started < nodes; ++started) {
    if (recv(news_.get(), &node, sizeof node, 0) <= 0) {
      return Error(StatusCode::kCancelled, "the job ended before");
    }
  }
  return OkStatus();
}

void SimulatedNodes::Cancel() { shutdown(news_.get(), SHUT_RDWR); }

Result<base::Deadline::Clock::time_point> SimulatedNodes::FailRankOf(uint32_t node) {
  const auto now = base::Deadline::Clock::now();
  AD_RETURN_IF_ERROR(Send(orders_.get(), {kFail, std::to_string(node)}, -1));
  return now;
}

}  // namespace autodist::scale
