#include "agent/sample/interfaces.h"

#include <net/if.h>
#include <unistd.h>

#include "agent/sample/text.h"

namespace autodist::agent {
namespace {

constexpr char kLoopback[] = "lo";
constexpr uint64_t kMega = 1'000'000;
// The number of samples between reads of state and speed, for which some drivers ask the card,
// which is slow.
constexpr int kInterfaceLookInterval = 15;
constexpr size_t kMaxInterfaces = 1'000;

}  // namespace

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

}  // namespace autodist::agent
