// Nodes that connect back: a scheduler starts a small program on each of them (`autodist-agent
// connect-back`, agent/life/connect_back.h), which connects to the chief and runs programs for it.
//
// A scheduler creates a CallbackListener with a key for the job, and runs
//
//   autodist-agent connect-back NODE SECONDS ADDRESS:PORT... < a file of 0400, or a stream, with
//   secure::NodeKeyLine of the node's key, or JobKeyLine
//
// on each node as the task of a step, or as the command of a container. It exits with 0 after the
// job is over and has left nothing there. A CallbackTransport reaches one of the nodes. Dismiss
// notifies all of them that the job is over.
//
// All data are encrypted with the node's key, which both sides must know (secure/session). A new
// process of a node that connects replaces the earlier one. If both still run, for example after a
// network outage, the earlier one is rejected when it connects again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/listen_address.h"
#include "base/task_queue.h"
#include "rpc/callback_lines.h"
#include "secure/key.h"
#include "secure/pump.h"
#include "transport/transport.h"

namespace autodist::callback {

struct CallbackLimits {
  std::chrono::milliseconds greeting{10'000};  // for a new connection to prove that it knows a key
  std::chrono::milliseconds start{10'000};     // for the client's response to an order
  std::chrono::milliseconds gone{500};        // for a client that has disconnected to connect again
  std::chrono::milliseconds together{1'000};  // from the end of a client to that of a program
  std::chrono::milliseconds report{1'000};    // between a program's last output and its stderr
  size_t strangers = 256;  // concurrent unauthenticated connections; above it, the oldest is closed
};

// Listens for the callback clients of a job. Thread-safe.
class CallbackListener {
 public:
  // Listens on all addresses of this machine. Rejects clients whose names are not in `nodes`.
  static Result<std::shared_ptr<CallbackListener>> Listen(base::PortRange ports,
                                                          secure::Key job_key,
                                                          const std::set<std::string>& nodes,
                                                          CallbackLimits limits = {});
  // Dismisses waiting clients, and disconnects.
  ~CallbackListener();
  CallbackListener(const CallbackListener&) = delete;
  CallbackListener& operator=(const CallbackListener&) = delete;

  uint16_t port() const { return port_; }
  const secure::Key& job_key() const { return job_key_; }

  // Runs argv on the node; blocks until it has connected and started the program.
  // kDeadlineExceeded: it did not. The end of the node's client is reported once; a ProofOfEnd: no
  // earlier client may have left programs there.
  // The streams may outlive this object.
  Result<std::unique_ptr<transport::Stream>> Run(const std::string& node,
                                                 const std::vector<std::string>& argv,
                                                 base::Deadline deadline,
                                                 const std::stop_token& stop);

  // Returns how often the node has connected.
  uint64_t Calls(const std::string& node) const;

  // Notifies all clients that the job is over, and waits for those that are about to connect again.
  // No program can be run afterwards.
  void Dismiss(base::Deadline deadline);

 private:
  class CallbackStream;
  struct Call;
  struct Node;
  struct Table;
  using CallPtr = std::shared_ptr<Call>;

  CallbackListener(base::UniqueFd listener, uint16_t port, secure::Key job_key,
                   CallbackLimits limits, std::shared_ptr<secure::PumpThread> pumps);
  void Serve();
  void Accept();
  void Settle(const CallPtr& call);
  void Read(const CallPtr& call);
  std::optional<secure::Key> KeyFor(Call& call, std::string_view identity);
  void LimitTo(ptrdiff_t max, const std::function<bool(const CallPtr&)>& of_the_kind);
  void LimitUnknown(const CallPtr& call);
  void Authenticated(const CallPtr& call);
  void Offer(const CallPtr& call);
  void ReadReport(const CallPtr& call);
  void SayOver(Call& call);
  void HungUp(Call& call);
  void Drop(Call& call);
  CallPtr AwaitCall(std::unique_lock<std::mutex>& lock, Node& node, base::Deadline deadline,
                    const std::stop_token& stop);
  void Wake() {
    wake_.Post([] {});
  }

  const base::UniqueFd listener_;
  const uint16_t port_;
  const secure::Key job_key_;
  const CallbackLimits limits_;
  const std::shared_ptr<secure::PumpThread> pumps_;
  base::TaskQueue wake_;
  const std::shared_ptr<Table> table_;
  // Used only by the thread:
  bool ending_ = false;
  base::Deadline accept_again_ = base::Deadline::After(std::chrono::milliseconds(0));
  std::jthread thread_;
};

// Connects to one of the nodes.
class CallbackTransport final : public transport::Transport {
 public:
  // Run waits at most `limit` for the node to connect.
  CallbackTransport(std::shared_ptr<CallbackListener> nodes, std::string node,
                    std::chrono::milliseconds limit)
      : nodes_(std::move(nodes)), node_(std::move(node)), limit_(limit) {}

  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override {
    return nodes_->Run(node_, argv, base::Deadline::After(limit_), stop);
  }

 private:
  const std::shared_ptr<CallbackListener> nodes_;
  const std::string node_;
  const std::chrono::milliseconds limit_;
};

}  // namespace autodist::callback
