// The traffic of a node's network interfaces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "agent/sample/rate.h"
#include "agent/sample/send_queues.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

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

}  // namespace autodist::agent
