#include "agent/sample/infiniband.h"

#include <unistd.h>

#include "agent/sample/text.h"
#include "base/folder_entries.h"

namespace autodist::agent {
namespace {

// The number of samples between reads of error counters, which rarely change: the kernel asks the
// card's firmware for each counter.
constexpr int kPortLookInterval = 15;
constexpr size_t kMaxPorts = 64;

// The kernel's Documentation/ABI/stable/sysfs-class-infiniband: traffic is in 4-byte words, as in
// the InfiniBand specification; hw_counters depend on the driver.
struct Traffic {
  const char* received;
  const char* sent;
  uint64_t unit;
};
constexpr Traffic kOfSpecification = {"/counters/port_rcv_data", "/counters/port_xmit_data", 4};
constexpr Traffic kOfDriver = {"/hw_counters/rx_bytes", "/hw_counters/tx_bytes", 1};  // EFA

constexpr const char* kErrors[] = {"symbol_error",
                                   "link_error_recovery",
                                   "link_downed",
                                   "local_link_integrity_errors",
                                   "excessive_buffer_overrun_errors",
                                   "port_rcv_errors",
                                   "port_rcv_remote_physical_errors",
                                   "port_rcv_constraint_errors",
                                   "port_xmit_constraint_errors",
                                   "port_xmit_discards",
                                   "VL15_dropped"};

std::optional<uint64_t> CountIn(std::string_view text) {
  return ParseNumber<uint64_t>(TakeLine(text));
}

}  // namespace

bool ParsePortIsActive(std::string_view state) { return state.starts_with("4:"); }

InfinibandReader::InfinibandReader(const std::string& sys_folder) {
  const std::string devices = sys_folder + "/class/infiniband/";
  for (const std::string& device : base::EntriesOf(devices)) {
    for (const std::string& number : base::EntriesOf(devices + device + "/ports")) {
      if (ports_.size() >= kMaxPorts) return;
      const std::string folder = devices + device + "/ports/" + number;
      const bool by_specification = access((folder + kOfSpecification.received).c_str(), F_OK) == 0;
      const Traffic& traffic = by_specification ? kOfSpecification : kOfDriver;
      Port port{device + ":" + number,
                traffic.unit,
                KernelFile(folder + traffic.received),
                KernelFile(folder + traffic.sent),
                folder + "/state",
                {},
                {},
                {},
                false,
                {}};
      for (const char* error : kErrors) {
        const std::string file = folder + "/counters/" + error;
        if (access(file.c_str(), F_OK) == 0) port.error_files.push_back(file);
      }
      ports_.push_back(std::move(port));
    }
  }
}

void InfinibandReader::Update(Port& port) {
  port.active = ParsePortIsActive(buffer_.Read(port.state_file));
  port.errors.reset();
  for (const std::string& file : port.error_files) {
    if (const auto count = CountIn(buffer_.Read(file))) {
      port.errors = port.errors.value_or(0) + *count;
    }
  }
}

void InfinibandReader::Read(SampleTime now, v1::NodeSample& sample) {
  const bool look = looks_-- == 0;
  if (look) looks_ = kPortLookInterval;
  for (Port& port : ports_) {
    if (look) Update(port);
    v1::InfinibandSample& reading = *sample.add_infinibands();
    reading.set_name(port.name);
    reading.set_active(port.active);
    if (port.errors) reading.set_errors(*port.errors);
    if (const auto count = CountIn(port.received_file.Read(buffer_))) {
      const auto rate = port.received.Next(*count * port.unit, now);
      if (rate) reading.set_received(*rate);
    }
    if (const auto count = CountIn(port.sent_file.Read(buffer_))) {
      const auto rate = port.sent.Next(*count * port.unit, now);
      if (rate) reading.set_sent(*rate);
    }
  }
}

}  // namespace autodist::agent
