// Connection tests between nodes: opens ports, and connects to ports of other nodes.
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

// Open ports that send a token to each client, by IPv4 and, if available, IPv6. A client that then
// sends a payload and ends it receives the number of bytes. Serves on a separate thread until
// it is destroyed. Leaves no connection in TIME_WAIT, so that a port is immediately free for
// others.
class PortListener {
 public:
  // Opens the wanted port and one that the system selects; `response` has the result. Fails if the
  // second cannot be opened. Does not block.
  static Result<std::unique_ptr<PortListener>> Open(const v1::OpenPortsRequest& request,
                                                    v1::OpenPortsResponse& response);
  ~PortListener();
  PortListener(const PortListener&) = delete;
  PortListener& operator=(const PortListener&) = delete;

  static constexpr size_t kMaxTokenLength = 256;  // bytes
  static constexpr size_t kMaxConnections = 256;  // others wait to be accepted

 private:
  struct Connection {
    base::UniqueFd fd;
    base::Deadline close_at = base::Deadline::Never();
    uint64_t received = 0;  // bytes of the payload
    bool counted = false;   // the peer was sent `received`
  };

  explicit PortListener(std::string token) : token_(std::move(token)) {}
  Result<uint16_t> Listen(uint16_t port);
  void Serve();
  bool Read(Connection& connection);
  base::Deadline NextDeadline() const;
  void Accept(int listener);

  const std::string token_;
  base::FdPair stop_;  // closing the second end stops the thread
  std::vector<base::UniqueFd> listeners_;

  // Used only by the thread:
  std::vector<Connection> connections_;  // in order of arrival
  base::Deadline accept_at_ = base::Deadline::After(std::chrono::milliseconds(0));
  std::array<char, 64 << 10> ignored_{};

  std::jthread thread_;
};

// Returns those ports that a program of this node could not open now.
std::vector<uint32_t> PortsTaken(const google::protobuf::RepeatedField<uint32_t>& ports);

// Connects to all targets in parallel, at most kMaxTries at a time, reads their tokens, and sends
// the requested payloads. Blocks for `limit` at most, which includes waiting for a turn, plus some
// seconds for payloads, or until `stop`. The results are in the order of the targets.
std::vector<v1::PortTry> ConnectToAll(
    const google::protobuf::RepeatedPtrField<v1::PortTarget>& targets,
    std::chrono::milliseconds limit, const std::stop_token& stop);

inline constexpr size_t kMaxTries = 256;

}  // namespace autodist::agent
