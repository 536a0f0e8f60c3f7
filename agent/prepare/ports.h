// Whether nodes reach each other's ports: the side that opens some, and the side that tries them.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::agent {

// Open ports on which whoever connects gets a token, by IPv4 and, where the node has it, IPv6. Who
// sends a payload then and ends it gets the number of its bytes.
// Serves them on a thread of its own until it is destroyed. Leaves no connection in TIME_WAIT, so
// that a port is free for others as soon as this one is gone.
class PortListener {
 public:
  // Opens the wanted port and one that the system chooses; `response` tells which are open. Fails
  // if the second cannot be opened. Does not block.
  static Result<std::unique_ptr<PortListener>> Open(const v1::OpenPortsRequest& request,
                                                    v1::OpenPortsResponse& response);
  ~PortListener();
  PortListener(const PortListener&) = delete;
  PortListener& operator=(const PortListener&) = delete;

  static constexpr size_t kMaxTokenLength = 256;  // bytes
  static constexpr size_t kMaxConnections = 256;  // at once; others wait to be accepted

 private:
  struct Connection {
    base::UniqueFd fd;
    base::Deadline close_at = base::Deadline::Never();
    uint64_t received = 0;  // bytes of a payload
    bool counted = false;   // the peer was sent their number
  };

  explicit PortListener(std::string token) : token_(std::move(token)) {}
  Result<uint16_t> Listen(uint16_t port);
  void Serve();
  bool Read(Connection& connection);
  base::Deadline NextDeadline() const;
  void Accept(int listener);

  const std::string token_;
  base::FdPair stop_;  // its second end is closed to stop the thread
  std::vector<base::UniqueFd> listeners_;

  // Only touched by the thread.
  std::vector<Connection> connections_;  // in the order they came
  base::Deadline accept_at_ = base::Deadline::After(std::chrono::milliseconds(0));
  std::array<char, 64 << 10> ignored_{};

  std::jthread thread_;
};

// Those of the ports that a program of this node could not open now.
std::vector<uint32_t> PortsTaken(const google::protobuf::RepeatedField<uint32_t>& ports);

// Connects to all targets at once, or to kMaxTries at a time, reads their tokens, and sends what
// payload they are to have. Blocks for `limit` at most, which those that have to wait share with
// the others, and some seconds for payloads, or until asked to stop. The result is in the order of
// the targets.
std::vector<v1::PortTry> ConnectToAll(
    const google::protobuf::RepeatedPtrField<v1::PortTarget>& targets,
    std::chrono::milliseconds limit, const std::stop_token& stop);

inline constexpr size_t kMaxTries = 256;

}  // namespace autodist::agent
