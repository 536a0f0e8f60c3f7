#include "why/network_causes.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/median.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "why/samples.h"
#include "why/who.h"

namespace autodist::why {
namespace {

constexpr double kSlowInterface = 0.25;  // of the others' speed
constexpr uint64_t kManyErrors = 10;     // of an interface between two looks
// What waits that long to be sent waits at the interface, and not for a moment.
constexpr std::chrono::duration<double> kLongQueue{0.02};
// Of one that sends next to nothing this is what it is taken to send, in bytes per second.
constexpr double kNothing = 1'000;

template <typename Sample>
const Sample* SameName(const google::protobuf::RepeatedPtrField<Sample>& samples,
                       const std::string& name) {
  const auto found = std::ranges::find(samples, name, &Sample::name);
  return found == samples.end() ? nullptr : &*found;
}

// What it has lost since; 0: nothing, or it is not known.
uint64_t Since(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

std::optional<v1::Trouble> InterfaceErrors(const v1::Board& now, const v1::Board* before) {
  if (!before) return std::nullopt;
  for (const int node : Running(now)) {
    if (node >= before->nodes_size()) continue;
    const v1::NodeSample& sample = now.nodes(node).sample();
    const v1::NodeSample& earlier = before->nodes(node).sample();
    const auto told = [&](const std::string& name, uint64_t errors) {
      v1::Trouble trouble =
          OfNode(now, node, v1::Trouble::KIND_SLOW,
                 ": errors of its network interface " + base::Printable(name) + " rise");
      AddEvidence(trouble, base::Printable(name),
                  "+" + Number(static_cast<double>(errors)) + " errors between two looks", "/sys");
      return trouble;
    };
    for (const v1::InterfaceSample& one : sample.interfaces()) {
      const auto* same = SameName(earlier.interfaces(), one.name());
      if (!same || !same->has_errors()) continue;
      const uint64_t errors = Since(one.errors(), same->errors());
      if (errors >= kManyErrors) return told(one.name(), errors);
    }
    for (const v1::InfinibandSample& one : sample.infinibands()) {
      const auto* same = SameName(earlier.infinibands(), one.name());
      if (!same || !same->has_errors()) continue;
      const uint64_t errors = Since(one.errors(), same->errors());
      if (errors >= kManyErrors) return told(one.name(), errors);
    }
  }
  return std::nullopt;
}

// The same interface on all nodes, slower on one.
std::optional<v1::Trouble> SlowInterface(const v1::Board& board) {
  const std::vector<int> nodes = Running(board);
  for (const int node : nodes) {
    for (const v1::InterfaceSample& one : board.nodes(node).sample().interfaces()) {
      std::vector<double> others;
      for (const int other : nodes) {
        const auto* same = SameName(board.nodes(other).sample().interfaces(), one.name());
        if (other != node && same && same->has_speed() && same->speed() > 0) {
          others.push_back(static_cast<double>(same->speed()));
        }
      }
      const auto speed = static_cast<double>(one.speed());
      if (!one.has_speed() || speed <= 0 || others.empty() ||
          speed > kSlowInterface * base::Median(others)) {
        continue;
      }
      const auto text = [](double bits) { return Number(bits / 1e6) + " Mbit/s"; };
      v1::Trouble trouble = OfNode(board, node, v1::Trouble::KIND_SLOW,
                                   ": its network interface " + base::Printable(one.name()) +
                                       " runs at " + text(speed) + " only");
      AddEvidence(trouble, base::Printable(one.name()),
                  text(speed) + "; the median of the other " + std::to_string(others.size()) +
                      ": " + text(base::Median(others)),
                  "/sys");
      return trouble;
    }
  }
  return std::nullopt;
}

std::string BitsPerSecond(double bytes) {
  const double bits = 8 * bytes;
  return bits < 10e6 ? Number(bits / 1e3) + " kbit/s" : Number(bits / 1e6) + " Mbit/s";
}

std::chrono::duration<double> QueueOf(const v1::InterfaceSample& interface) {
  return std::chrono::duration<double>(static_cast<double>(interface.queued()) /
                                       std::max(kNothing, interface.sent()));
}

// The one whose queue is longest, where it was long before, too.
std::optional<v1::Trouble> LongQueue(const v1::Board& now, const v1::Board* before) {
  std::optional<v1::Trouble> longest;
  std::chrono::duration<double> length = kLongQueue;
  for (const int node : Running(now)) {
    if (!before || node >= before->nodes_size()) continue;
    for (const v1::InterfaceSample& one : now.nodes(node).sample().interfaces()) {
      const auto* earlier = SameName(before->nodes(node).sample().interfaces(), one.name());
      if (!one.has_sent() || !earlier || QueueOf(*earlier) < kLongQueue || QueueOf(one) <= length) {
        continue;
      }
      length = QueueOf(one);
      const std::string name = base::Printable(one.name());
      longest = OfNode(now, node, v1::Trouble::KIND_SLOW,
                       ": its network interface " + name + " is slow: it sends " +
                           BitsPerSecond(one.sent()) + ", and more waits to be sent");
      AddEvidence(*longest, "send queue of " + name,
                  base::BinaryBytes(one.queued()) + ", " + Number(1000 * length.count()) +
                      " ms at that rate; earlier " + base::BinaryBytes(earlier->queued()),
                  "rtnetlink");
    }
  }
  return longest;
}

}  // namespace

std::optional<v1::Trouble> NetworkCause(const v1::Board& now, const v1::Board* before) {
  if (auto cause = InterfaceErrors(now, before)) return cause;
  if (auto cause = LongQueue(now, before)) return cause;
  return SlowInterface(now);
}

}  // namespace autodist::why
