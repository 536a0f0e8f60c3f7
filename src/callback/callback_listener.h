// Nodes that call in: where a scheduler starts a small program on each (`autodist-agent
// connect-back`, agent/life/connect_back.h) that connects with the chief, and runs there what the
// chief wants.
//
// A scheduler makes a CallbackListener, with a key of the job's own, and has
//
//   autodist-agent connect-back NODE SECONDS ADDRESS:PORT... < a file of 0400, or a stream, with
//   secure::NodeKeyLine of the node's key, or JobKeyLine
//
// run on each node as what its unit there is for, a step's task or a container's command: it ends,
// with 0, once the job is over and nothing of it is left there. A CallbackTransport is the way to
// one of the nodes. Dismiss tells all of them that the job is over.
//
// All that passes is encrypted by the node's key, which both sides have to know (secure/session).
// A node that calls by a new process has ended the one before: where both go on, one of them cut
// off for a while say, the earlier one is sent away when it calls again.
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
  std::chrono::milliseconds greeting{10'000};  // for a stranger to show that it knows a key
  std::chrono::milliseconds start{10'000};     // for the client's answer to an order
  std::chrono::milliseconds gone{1'000};       // for one that has hung up to call again
  std::chrono::milliseconds report{1'000};     // between a program's last output and its stderr
  size_t strangers = 256;                      // at the same time; of more, the first has to go
};

// Listens for the callback clients of a job. Thread-safe.
class CallbackListener {
 public:
  // On all addresses of this machine. Clients of other names than `nodes` are turned away.
  static Result<std::shared_ptr<CallbackListener>> Listen(base::PortRange ports,
                                                          secure::Key job_key,
                                                          const std::set<std::string>& nodes,
                                                          CallbackLimits limits = {});
  // Dismisses those that wait, and hangs up.
  ~CallbackListener();
  CallbackListener(const CallbackListener&) = delete;
  CallbackListener& operator=(const CallbackListener&) = delete;

  uint16_t port() const { return port_; }
  const secure::Key& job_key() const { return job_key_; }

  // Runs argv on the node; blocks until it calls, and has begun. kDeadlineExceeded: it did not;
  // kAborted: what called from there has ended, which is said once.
  // The streams may outlive this object.
  Result<std::unique_ptr<transport::Stream>> Run(const std::string& node,
                                                 const std::vector<std::string>& argv,
                                                 base::Deadline deadline,
                                                 const std::stop_token& stop);

  // How many times the node has called.
  uint64_t Calls(const std::string& node) const;

  // Tells all clients that the job is over, also those that are about to call again, for which it
  // waits. From here on nothing runs any more.
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
  // Of the thread alone:
  bool ending_ = false;
  base::Deadline accept_again_ = base::Deadline::After(std::chrono::milliseconds(0));
  std::jthread thread_;
};

// The way to one of them.
class CallbackTransport final : public transport::Transport {
 public:
  // Run waits no longer than `limit` for the node to call.
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
