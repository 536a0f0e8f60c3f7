#include "agent/sample/network.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/prepare/netlink.h"
#include "base/folder_entries.h"

namespace autodist::agent {
namespace {

constexpr char kLoopback[] = "lo";
constexpr uint64_t kMega = 1'000'000;
// The number of samples between reads of state and speed, for which some drivers ask the card,
// which is slow.
constexpr int kInterfaceLookInterval = 15;
constexpr size_t kMaxInterfaces = 1'000;

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

void AddQueue(std::string_view message, SendQueues& queues) {
  const auto about = NetlinkValue<tcmsg>(message);
  // The root queue includes those below it.
  if (!about || about->tcm_parent != TC_H_ROOT) return;
  const std::string_view stats =
      NetlinkAttribute(message.substr(NetlinkAligned(sizeof *about)), TCA_STATS2);
  const auto queue = NetlinkValue<gnet_stats_queue>(NetlinkAttribute(stats, TCA_STATS_QUEUE));
  if (queue) queues[static_cast<unsigned>(about->tcm_ifindex)] = queue->backlog;
}

std::optional<uint64_t> CountIn(std::string_view text) {
  return ParseNumber<uint64_t>(TakeLine(text));
}

}  // namespace

bool AddSendQueues(std::string_view messages, SendQueues& queues) {
  return ReadNetlinkPart(messages, [&](uint16_t type, std::string_view message) {
    if (type == RTM_NEWQDISC) AddQueue(message, queues);
  });
}

SendQueueReader::SendQueueReader()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)),
      buffer_(kLargestNetlinkPart) {}

const SendQueues& SendQueueReader::Read() {
  queues_.clear();
  NetlinkDump<tcmsg> request(RTM_GETQDISC);
  request.about.tcm_family = AF_UNSPEC;
  if (!socket_.valid()) return queues_;
  AskNetlink(socket_.get(), request, buffer_,
             [this](std::string_view part) { return AddSendQueues(part, queues_); });
  return queues_;
}

// "  eth0: bytes packets errs drop fifo frame compressed multicast bytes packets errs drop ...",
// after two header lines.
std::vector<InterfaceCounts> ParseInterfaces(std::string_view dev) {
  std::vector<InterfaceCounts> all;
  while (!dev.empty() && all.size() < kMaxInterfaces) {
    std::string_view line = TakeLine(dev);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    InterfaceCounts counts;
    std::string_view before = line.substr(0, colon);
    counts.name = TakeWord(before);
    if (counts.name.empty() || counts.name == kLoopback) continue;
    line.remove_prefix(colon + 1);
    counts.received = TakeNumber<uint64_t>(line);
    SkipWords(line, 1);
    counts.errors = TakeNumber<uint64_t>(line);
    counts.dropped = TakeNumber<uint64_t>(line);
    SkipWords(line, 4);
    counts.sent = TakeNumber<uint64_t>(line);
    SkipWords(line, 1);
    counts.errors += TakeNumber<uint64_t>(line);
    counts.dropped += TakeNumber<uint64_t>(line);
    all.push_back(counts);
  }
  return all;
}

InterfaceReader::InterfaceReader(const std::string& proc_folder, const std::string& sys_folder)
    : net_folder_(sys_folder + "/class/net/"), dev_(proc_folder + "/net/dev") {}

// Some kinds of interfaces have no known state: "unknown".
void InterfaceReader::Update(const std::string& name, Interface& interface) {
  const std::string folder = net_folder_ + name;
  interface.is_card = access((folder + "/device").c_str(), F_OK) == 0;
  std::string_view state = about_.Read(folder + "/operstate");
  state = TakeLine(state);
  interface.up = state == "up" || state == "unknown";
  interface.speed.reset();
  std::string_view speed = about_.Read(folder + "/speed");
  const auto megabits = ParseNumber<int64_t>(TakeLine(speed));  // -1: unknown
  if (megabits && *megabits > 0) interface.speed = static_cast<uint64_t>(*megabits) * kMega;
  // sysfs may belong to another network namespace, unlike the kernel's other answers.
  interface.index = if_nametoindex(name.c_str());
}

void InterfaceReader::Read(SampleTime now, v1::NodeSample& sample) {
  ++samples_;
  bool has_cards = false;
  const SendQueues& queues = queues_.Read();
  std::vector<std::pair<Interface*, v1::InterfaceSample>> found;
  for (const InterfaceCounts& counts : ParseInterfaces(dev_.Read(buffer_))) {
    auto known = interfaces_.find(counts.name);
    if (known == interfaces_.end()) known = interfaces_.try_emplace(std::string(counts.name)).first;
    Interface& interface = known->second;
    interface.seen = samples_;
    if (interface.looks-- == 0) {
      Update(known->first, interface);
      interface.looks = kInterfaceLookInterval;
    }
    v1::InterfaceSample reading;
    reading.set_name(known->first);
    if (const auto rate = interface.received.Next(counts.received, now))
      reading.set_received(*rate);
    if (const auto rate = interface.sent.Next(counts.sent, now)) reading.set_sent(*rate);
    reading.set_errors(counts.errors);
    reading.set_dropped(counts.dropped);
    if (interface.speed) reading.set_speed(*interface.speed);
    const auto queue = queues.find(interface.index);
    if (queue != queues.end()) reading.set_queued(queue->second);
    if (!interface.up) continue;
    has_cards |= interface.is_card;
    found.emplace_back(&interface, std::move(reading));
  }
  for (auto& [interface, reading] : found) {
    if (interface->is_card || !has_cards) *sample.add_interfaces() = std::move(reading);
  }
  std::erase_if(interfaces_, [this](const auto& entry) { return entry.second.seen != samples_; });
}

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
