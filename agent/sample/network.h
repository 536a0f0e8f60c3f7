// The traffic of a node's network interfaces, and of InfiniBand ports and similar devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "autodist/v1/sample.pb.h"
#include "base/fd.h"

namespace autodist::agent {

// The send queues of a node's network interfaces, by rtnetlink(7): a card that is overloaded or
// throttled has a queue that does not empty.

// Bytes by interface index.
using SendQueues = std::map<unsigned, uint64_t>;

// Adds a part of the kernel's answer; returns whether it is the last part.
bool AddSendQueues(std::string_view messages, SendQueues& queues);

// Not thread-safe.
class SendQueueReader {
 public:
  SendQueueReader();

  // Omits interfaces without a queue, and all if the kernel does not support it.
  const SendQueues& Read();

 private:
  base::UniqueFd socket_;
  std::vector<char> buffer_;
  SendQueues queues_;
};

// Counters since the interface exists.
struct InterfaceCounts {
  std::string_view name;  // in the text
  uint64_t received = 0;  // bytes
  uint64_t sent = 0;
  uint64_t errors = 0;  // in both directions
  uint64_t dropped = 0;
};
// Parses /proc/net/dev, without loopback.
std::vector<InterfaceCounts> ParseInterfaces(std::string_view dev);

// Reads interfaces that are up, without loopback. If a node has network cards, only these, because
// the traffic of a bridge or bond also passes one of them. Not thread-safe.
class InterfaceReader {
 public:
  InterfaceReader(const std::string& proc_folder, const std::string& sys_folder);

  void Read(SampleTime now, v1::NodeSample& sample);

 private:
  struct Interface {
    bool is_card = false;
    bool up = false;
    unsigned index = 0;             // the kernel's; 0: removed
    std::optional<uint64_t> speed;  // bits per second
    Rate received;
    Rate sent;
    int looks = 0;      // samples until the members above are read again
    uint64_t seen = 0;  // the last sample with it
  };
  void Update(const std::string& name, Interface& interface);

  const std::string net_folder_;
  TextBuffer buffer_;
  TextBuffer about_;
  KernelFile dev_;
  SendQueueReader queues_;
  std::map<std::string, Interface, std::less<>> interfaces_;
  uint64_t samples_ = 0;
};

// Matches "4: ACTIVE".
bool ParsePortIsActive(std::string_view state);

// Lists the ports only once. Not thread-safe.
class InfinibandReader {
 public:
  explicit InfinibandReader(const std::string& sys_folder);

  void Read(SampleTime now, v1::NodeSample& sample);

 private:
  struct Port {
    std::string name;
    uint64_t unit;  // bytes per count of traffic
    KernelFile received_file;
    KernelFile sent_file;
    std::string state_file;
    std::vector<std::string> error_files;
    Rate received;
    Rate sent;
    bool active = false;
    std::optional<uint64_t> errors;
  };
  void Update(Port& port);

  TextBuffer buffer_;
  std::vector<Port> ports_;
  int looks_ = 0;  // samples until errors are read again
};

}  // namespace autodist::agent
