// The traffic of a node's InfiniBand ports, and of similar devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "agent/sample/rate.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

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
