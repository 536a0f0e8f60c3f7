#include "callback/callback_listener.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/proof_of_end.h"
#include "base/quantity.h"
#include "base/tcp_connect.h"
#include "base/thread.h"
#include "secure/session.h"

namespace autodist::callback {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kAcceptBackoff{100};  // without a free descriptor for another connection
constexpr size_t kMaxSuperseded = 16;        // earlier processes of a node that are remembered
constexpr ptrdiff_t kMaxUnproven = 4;        // connections of a node that may be replayed
constexpr int kMaxAtOnce = 64;          // new connections before the existing ones get their turn
constexpr int kMaxCallLines = 16;       // of a call, before the others get their turn
constexpr int kMaxUnknownEnds = 256;    // of a call, for programs without a stream
constexpr ptrdiff_t kMaxDismissed = 4;  // connections of a node that must disconnect at the end

// Reads what a lost connection has left.
bool HasEnded(secure::Session& session) {
  auto read = secure::Progress::kDone;
  for (int lines = 0; read == secure::Progress::kDone && lines < kMaxCallLines; ++lines) {
    std::string line;
    read = session.ReadLine(line, rpc::kMaxReportLength);
  }
  return read == secure::Progress::kEnded || session.closed_by_peer();
}

}  // namespace

// A connection until it belongs to a program.
struct CallbackListener::Call {
  // kUnproven: has named a node and proved its key, but the message may be a replayed one.
  // kOrdered: has been sent a program to run; kDismissed: has been sent that the job is over. The
  // thread releases connections in the last two states.
  enum class State { kStranger, kUnproven, kWaiting, kOrdered, kDismissed, kStarted, kBroken };

  std::unique_ptr<secure::Session> session;
  Deadline deadline;  // for the handshake, or for the client to disconnect
  State state = State::kStranger;
  rpc::CallbackIdentity from = {};
  uint64_t order = 0;
  std::string line = {};  // the received part
  bool has_more = false;  // buffered lines, which poll does not report
  int unknown_ends = 0;

  bool Unknown() const { return state == State::kStranger || state == State::kUnproven; }
  bool Limited() const { return Unknown() || state == State::kDismissed; }
  bool Over() const { return state == State::kStarted || state == State::kBroken; }
};

struct CallbackListener::Node {
  CallPtr waiting = nullptr;
  bool expected = false;                 // it has accepted an order, and so connects again at once
  std::optional<Deadline> gone_at = {};  // it has disconnected, and must connect again by then
  uint64_t calls = 0;
  std::string instance = {};  // the process that connects
  std::deque<std::string> superseded = {};
  std::set<std::string> serving = {};  // the processes whose programs may still run
  // The stderr of programs after their end, for programs with a stream.
  std::map<uint64_t, std::optional<std::string>> programs = {};
};

struct CallbackListener::Table {
  std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex:
  std::map<std::string, Node> nodes;
  std::list<CallPtr> calls;
  uint64_t orders = 0;
  bool dismissed = false;
};

class CallbackListener::CallbackStream final : public transport::Stream {
 public:
  CallbackStream(std::shared_ptr<Table> table, std::shared_ptr<secure::PumpThread> pumps,
                 std::string node, uint64_t id, base::UniqueFd socket, milliseconds report_limit)
      : table_(std::move(table)),
        pumps_(std::move(pumps)),
        node_(std::move(node)),
        id_(id),
        line_(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0)),
        socket_(std::move(socket)),
        report_limit_(report_limit) {}
  ~CallbackStream() override {
    shutdown(line_.get(), SHUT_RDWR);
    const std::lock_guard lock(table_->mutex);
    table_->nodes.at(node_).programs.erase(id_);
  }

  base::UniqueFd TakeSocket() override { return std::move(socket_); }

  std::string StderrTail() const override {
    const std::lock_guard lock(table_->mutex);
    return table_->nodes.at(node_).programs.at(id_).value_or("");
  }

  // The stderr arrives by another connection, and never if the node is lost.
  bool WaitClosed(Deadline deadline) override {
    pollfd hang_up{line_.get(), POLLRDHUP, 0};
    while (poll(&hang_up, 1, deadline.PollTimeout()) < 0 && errno == EINTR) {
    }
    if (hang_up.revents == 0) return false;
    std::unique_lock lock(table_->mutex);
    const Deadline limit = std::min(deadline, Deadline::After(report_limit_));
    table_->changed.wait_until(lock, limit.when(), [this] {
      return table_->nodes.at(node_).programs.at(id_).has_value();
    });
    return true;
  }

 private:
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<secure::PumpThread> pumps_;  // passes on the socket's bytes
  const std::string node_;
  const uint64_t id_;
  const base::UniqueFd line_;  // the same socket, to detect the end of the program's output
  base::UniqueFd socket_;
  const milliseconds report_limit_;
};

Result<std::shared_ptr<CallbackListener>> CallbackListener::Listen(
    base::PortRange ports, secure::Key job_key, const std::set<std::string>& nodes,
    CallbackLimits limits) {
  auto listening = base::ListenWithin(*base::IpAddress::Parse("::"), ports);  // also IPv4
  if (!listening.ok()) {
    listening = base::ListenWithin(*base::IpAddress::Parse("0.0.0.0"), ports);
  }
  AD_RETURN_IF_ERROR(Annotate(listening.status(), "listening for nodes that connect back"));
  AD_ASSIGN_OR_RETURN(auto pumps, secure::PumpThread::Start());
  std::shared_ptr<CallbackListener> made(new CallbackListener(
      std::move(listening->socket), listening->address.port, job_key, limits, std::move(pumps)));
  for (const std::string& node : nodes) made->table_->nodes[node];
  AD_RETURN_IF_ERROR(made->wake_.Open());
  AD_ASSIGN_OR_RETURN(made->thread_,
                      base::StartThreadWithoutSignals([&own = *made] { own.Serve(); }));
  return made;
}

CallbackListener::CallbackListener(base::UniqueFd listener, uint16_t port, secure::Key job_key,
                                   CallbackLimits limits, std::shared_ptr<secure::PumpThread> pumps)
    : listener_(std::move(listener)),
      port_(port),
      job_key_(job_key),
      limits_(limits),
      pumps_(std::move(pumps)),
      table_(std::make_shared<Table>()) {}

CallbackListener::~CallbackListener() {
  if (!thread_.joinable()) return;
  Dismiss(Deadline::After(milliseconds(0)));
  wake_.Post([this] { ending_ = true; });
  thread_.join();
}

uint64_t CallbackListener::Calls(const std::string& node) const {
  const std::lock_guard lock(table_->mutex);
  return table_->nodes.at(node).calls;
}

void CallbackListener::Dismiss(Deadline deadline) {
  std::unique_lock lock(table_->mutex);
  table_->dismissed = true;
  table_->changed.notify_all();
  Wake();
  table_->changed.wait_until(lock, deadline.when(), [this] {
    return std::ranges::none_of(table_->nodes, [](const auto& entry) {
      return entry.second.expected || entry.second.waiting;
    });
  });
}

CallbackListener::CallPtr CallbackListener::AwaitCall(std::unique_lock<std::mutex>& lock,
                                                      Node& node, Deadline deadline,
                                                      const std::stop_token& stop) {
  const auto called = [&] { return node.waiting || table_->dismissed; };
  const auto called_or_gone = [&] { return called() || node.gone_at; };
  table_->changed.wait_until(lock, stop, deadline.when(), called_or_gone);
  if (node.gone_at && !called()) {
    table_->changed.wait_until(lock, stop, std::min(deadline, *node.gone_at).when(), called);
  }
  if (!called() || table_->dismissed || stop.stop_requested()) return nullptr;
  CallPtr call = std::move(node.waiting);
  call->state = Call::State::kOrdered;
  call->order = ++table_->orders;
  node.expected = true;
  node.programs[call->order];
  return call;
}

Result<std::unique_ptr<transport::Stream>> CallbackListener::Run(
    const std::string& name, const std::vector<std::string>& argv, Deadline deadline,
    const std::stop_token& stop) {
  const auto found = table_->nodes.find(name);  // the names are fixed after the start
  if (found == table_->nodes.end())
    return Error(StatusCode::kInternal, name + " may not connect back");
  const Deadline::Clock::time_point began = Deadline::Clock::now();
  Node& node = found->second;
  std::unique_lock lock(table_->mutex);
  // Its programs have continued without it, and still may.
  if (node.gone_at && began > node.gone_at->when() + limits_.together) node.gone_at.reset();
  while (const CallPtr call = AwaitCall(lock, node, deadline, stop)) {
    call->session->Write(rpc::CallbackLine{rpc::kCallbackRun, call->order, argv}.ToLine());
    (void)call->session->Flush();  // the thread sends the rest
    Wake();
    const Deadline limit = std::min(deadline, Deadline::After(limits_.start));
    const uint64_t order = call->order;
    table_->changed.wait_until(lock, stop, limit.when(),
                               [&] { return call->Over() || call->order != order; });
    if (call->order != order) {
      const std::string why = node.programs.at(order).value_or("");
      node.programs.erase(order);
      return Error(StatusCode::kUnavailable, "the node starts no program: " + why);
    }
    if (call->state == Call::State::kStarted) {
      node.serving.insert(call->from.instance);
      auto socket = pumps_->Add(std::move(call->session));
      if (socket.ok()) {
        lock.unlock();
        return std::make_unique<CallbackStream>(table_, pumps_, name, call->order,
                                                *std::move(socket), limits_.report);
      }
      node.programs.erase(call->order);
      return socket.status();
    }
    node.programs.erase(call->order);
    node.expected = false;
    call->state = Call::State::kBroken;  // the thread closes it
    Wake();
  }
  // Reported once: afterwards a new client is expected.
  if (node.gone_at && node.gone_at->Expired()) {
    node.gone_at.reset();
    node.serving.erase(node.instance);
    const Status gone =
        Error(StatusCode::kUnavailable, "the program that connected from the node has ended");
    return node.serving.empty() ? ProofOfEnd::OfClient(gone) : gone;
  }
  if (stop.stop_requested()) return Error(StatusCode::kCancelled, "cancelled");
  const auto waited = std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() - began);
  return WithRemedy(
      Error(StatusCode::kDeadlineExceeded, "it did not connect within " + base::Seconds(waited)),
      "allow connections from the node to TCP port " + std::to_string(port_) + " of this machine");
}

void CallbackListener::Serve() {
  while (!ending_) {
    const short accepts = accept_again_.Expired() ? POLLIN : 0;
    std::vector<pollfd> polled = {{wake_.fd(), POLLIN, 0}, {listener_.get(), accepts, 0}};
    std::vector<CallPtr> calls;
    Deadline next = accepts != 0 ? Deadline::Never() : accept_again_;
    {
      const std::lock_guard lock(table_->mutex);
      for (const CallPtr& call : table_->calls) {
        const short sends = call->session->has_to_send() ? POLLOUT : 0;
        polled.push_back({call->session->socket(), static_cast<short>(POLLIN | sends), 0});
        calls.push_back(call);
        if (call->Limited()) next = std::min(next, call->deadline);
        if (call->has_more) next = Deadline::After({});
      }
    }
    poll(polled.data(), polled.size(), next.PollTimeout());
    wake_.RunAll();
    const std::lock_guard lock(table_->mutex);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (polled[i + 2].revents != 0 || calls[i]->has_more) Read(calls[i]);
      Settle(calls[i]);
    }
    if (polled[1].revents != 0) Accept();
    std::erase_if(table_->calls, [](const CallPtr& call) { return call->Over(); });
    table_->changed.notify_all();
  }
}

// Applies timeouts, and the end of the job.
void CallbackListener::Settle(const CallPtr& call) {
  if (call->state == Call::State::kWaiting && table_->dismissed) SayOver(*call);
  if (call->Limited() && call->deadline.Expired()) Drop(*call);
  if (call->Over()) return;
  if (call->session->Flush() == secure::Progress::kBroken) HungUp(*call);
}

void CallbackListener::SayOver(Call& call) {
  call.session->Write(rpc::CallbackLine{rpc::kCallbackOver}.ToLine());
  call.session->WriteEnd();  // closing now could discard the line
  call.state = Call::State::kDismissed;
  call.deadline = Deadline::After(limits_.greeting);
  LimitTo(kMaxDismissed, [&](const CallPtr& other) {
    return other->state == call.state && other->from.node == call.from.node;
  });
}

// Closes the oldest calls of a kind above the limit.
void CallbackListener::LimitTo(ptrdiff_t max,
                               const std::function<bool(const CallPtr&)>& of_the_kind) {
  if (std::ranges::count_if(table_->calls, of_the_kind) <= max) return;
  (*std::ranges::find_if(table_->calls, of_the_kind))->state = Call::State::kBroken;
}

void CallbackListener::Accept() {
  for (int accepted = 0; accepted < kMaxAtOnce; ++accepted) {
    base::UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      // The connection stays in the backlog.
      if (errno == EMFILE || errno == ENFILE) accept_again_ = Deadline::After(kAcceptBackoff);
      return;
    }
    base::GiveUpWhenSilent(socket.get());
    const auto call = std::make_shared<Call>(Call{nullptr, Deadline::After(limits_.greeting)});
    call->session = secure::Session::OfServer(
        std::move(socket),
        [this, of = call.get()](std::string_view identity) { return KeyFor(*of, identity); });
    table_->calls.push_back(call);
    Read(call);  // a client's first message usually has arrived, and sometimes the last
    Settle(call);
    LimitUnknown(call);
  }
}

std::optional<secure::Key> CallbackListener::KeyFor(Call& call, std::string_view identity) {
  const auto from = rpc::CallbackIdentity::FromText(identity);
  if (!from || !table_->nodes.contains(from->node)) return std::nullopt;
  call.from = *from;
  return job_key_.ForNode(from->node);
}

// Limits unauthenticated connections. Those that have named a node are counted separately, so that
// strangers do not block nodes.
void CallbackListener::LimitUnknown(const CallPtr& call) {
  if (!call->Unknown()) return;
  const bool unproven = call->state == Call::State::kUnproven;
  LimitTo(unproven ? kMaxUnproven : static_cast<ptrdiff_t>(limits_.strangers),
          [&](const CallPtr& other) {
            return other->state == call->state &&
                   (!unproven || other->from.node == call->from.node);
          });
}

void CallbackListener::Read(const CallPtr& call) {
  using secure::Progress;
  call->has_more = false;
  for (int lines = 0; !call->Over(); ++lines) {
    if (lines == kMaxCallLines) {
      call->has_more = true;
      return;
    }
    const bool unknown = call->Unknown();
    const Progress read = unknown ? call->session->Handshake()
                                  : call->session->ReadLine(call->line, rpc::kMaxReportLength);
    if (read == Progress::kWaits) {
      if (call->state == Call::State::kStranger && call->session->client_named()) {
        call->state = Call::State::kUnproven;
        LimitUnknown(call);
      }
      return;
    }
    if (read != Progress::kDone) {
      HungUp(*call);
      return;
    }
    if (unknown) {
      Authenticated(call);
    } else {
      ReadReport(call);
      call->line.clear();
    }
  }
}

// A client that still runs connects again at once. It has ended if it said so, or its system did: a
// reset may come from a machine between, and then its programs still run.
void CallbackListener::HungUp(Call& call) {
  const bool was_client =
      call.state == Call::State::kWaiting || call.state == Call::State::kOrdered;
  if (was_client && HasEnded(*call.session)) {
    Node& node = table_->nodes.at(call.from.node);
    const bool newest = node.instance == call.from.instance;
    if (newest && node.serving.contains(node.instance)) {
      node.gone_at = Deadline::After(limits_.gone);
    }
  }
  Drop(call);
}

// Makes the connection unavailable for orders.
void CallbackListener::Drop(Call& call) {
  call.state = Call::State::kBroken;
  const auto node = table_->nodes.find(call.from.node);
  if (node != table_->nodes.end() && node->second.waiting.get() == &call) {
    node->second.waiting = nullptr;
  }
}

void CallbackListener::Authenticated(const CallPtr& call) {
  Node& node = table_->nodes.at(call->from.node);
  if (std::ranges::find(node.superseded, call->from.instance) != node.superseded.end()) {
    SayOver(*call);
    return;
  }
  if (node.instance != call->from.instance) {
    if (!node.instance.empty()) node.superseded.push_back(node.instance);
    if (node.superseded.size() > kMaxSuperseded) node.superseded.pop_front();
    node.instance = call->from.instance;
  }
  ++node.calls;
  node.gone_at.reset();
  Offer(call);
}

// Makes the connection available for orders.
void CallbackListener::Offer(const CallPtr& call) {
  Node& node = table_->nodes.at(call->from.node);
  // The earlier connection of the two has been cut.
  if (node.waiting) Drop(*node.waiting);
  call->state = Call::State::kWaiting;
  call->order = 0;
  node.waiting = call;
  node.expected = false;
}

void CallbackListener::ReadReport(const CallPtr& call) {
  const auto line = rpc::CallbackLine::FromLine(call->line);
  if (line && line->kind == rpc::kCallbackEnded && line->texts.size() == 1) {
    auto& programs = table_->nodes.at(call->from.node).programs;
    if (const auto program = programs.find(line->id); program != programs.end()) {
      program->second = line->texts[0];
      if (line->id == call->order && call->state == Call::State::kOrdered)
        Offer(call);  // it refuses the order
    } else if (++call->unknown_ends > kMaxUnknownEnds) {
      Drop(*call);
    }
  } else if (line && line->kind == rpc::kCallbackStarted && line->id == call->order &&
             call->state == Call::State::kOrdered) {
    call->state = Call::State::kStarted;
  } else {
    Drop(*call);
  }
}

}  // namespace autodist::callback
