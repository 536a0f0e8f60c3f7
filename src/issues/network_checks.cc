// Checks for slow or broken networks.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/utf8.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

template <typename Sample>
const Sample* SameName(const google::protobuf::RepeatedPtrField<Sample>& samples,
                       const std::string& name) {
  const auto found = std::ranges::find(samples, name, &Sample::name);
  return found == samples.end() ? nullptr : &*found;
}

Found OfInterface(const v1::JobSnapshot& now, int node, const std::string& name,
                  const std::string& before, const std::string& behind) {
  Found one;
  one.key = before + std::to_string(node) + name;
  one.issue = OfNode(now, node, v1::Issue::KIND_SLOW,
                     ": " + before + " network interface " + base::Printable(name) + behind);
  return one;
}

template <typename Sample>
void AddErrors(const v1::JobSnapshot& now, int node,
               const google::protobuf::RepeatedPtrField<Sample>& samples,
               const google::protobuf::RepeatedPtrField<Sample>& earlier, AllFound& found) {
  for (const Sample& sample : samples) {
    const Sample* same = SameName(earlier, sample.name());
    if (!same || !same->has_errors() || sample.errors() < same->errors() + kInterfaceErrors) {
      continue;
    }
    found.push_back(OfInterface(now, node, sample.name(), "errors of", " rise"));
    const auto errors = static_cast<double>(sample.errors() - same->errors());
    AddEvidence(found.back().issue, base::Printable(sample.name()),
                "+" + Number(errors) + " errors between two samples", "/sys");
  }
}

std::string BitsPerSecond(double bytes) {
  const double bits = 8 * bytes;
  return bits < 10e6 ? Number(bits / 1e3) + " kbit/s" : Number(bits / 1e6) + " Mbit/s";
}

// Seconds until the queue is sent.
double QueueOf(const v1::InterfaceSample& interface) {
  return static_cast<double>(interface.queued()) / std::max(kMinSent, interface.sent());
}

}  // namespace

void InterfaceErrors(const Snapshots& of, AllFound& found) {
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::NodeSample* earlier = of.SampleBefore(node);
    if (!earlier) continue;
    const v1::NodeSample& sample = of.now.nodes(node).sample();
    AddErrors(of.now, node, sample.interfaces(), earlier->interfaces(), found);
    AddErrors(of.now, node, sample.infinibands(), earlier->infinibands(), found);
  }
}

// Reports interfaces whose queue was long in both samples.
void SendQueues(const Snapshots& of, AllFound& found) {
  std::vector<std::pair<double, Found>> queues;
  for (const int node : snapshot::SampledNodes(of.now)) {
    const v1::NodeSample* before = of.SampleBefore(node);
    if (!before) continue;
    for (const v1::InterfaceSample& one : of.now.nodes(node).sample().interfaces()) {
      const v1::InterfaceSample* earlier = SameName(before->interfaces(), one.name());
      const double queue = QueueOf(one);
      if (!one.has_sent() || !earlier || QueueOf(*earlier) < kLongSendQueue ||
          queue <= kLongSendQueue) {
        continue;
      }
      Found slow = OfInterface(
          of.now, node, one.name(), "its",
          " is slow: it sends " + BitsPerSecond(one.sent()) + ", and more waits to be sent");
      AddEvidence(slow.issue, "send queue of " + base::Printable(one.name()),
                  base::BinaryBytes(one.queued()) + ", " + Number(1000 * queue) +
                      " ms at that rate; earlier " + base::BinaryBytes(earlier->queued()),
                  "rtnetlink");
      queues.emplace_back(queue, std::move(slow));
    }
  }
  std::ranges::stable_sort(queues, std::greater(), &std::pair<double, Found>::first);
  for (auto& [queue, one] : queues) found.push_back(std::move(one));
}

void SlowInterfaces(const Snapshots& of, AllFound& found) {
  const std::vector<int> nodes = snapshot::SampledNodes(of.now);
  for (const int node : nodes) {
    for (const v1::InterfaceSample& one : of.now.nodes(node).sample().interfaces()) {
      std::vector<double> others;
      for (const int other : nodes) {
        const auto* same = SameName(of.now.nodes(other).sample().interfaces(), one.name());
        if (other != node && same && same->speed() > 0) {
          others.push_back(static_cast<double>(same->speed()));
        }
      }
      const auto speed = static_cast<double>(one.speed());
      if (speed <= 0 || others.empty()) continue;
      const double median = base::Median(others);
      if (speed > kSlowInterface * median) continue;
      const auto text = [](double bits) { return Number(bits / 1e6) + " Mbit/s"; };
      found.push_back(
          OfInterface(of.now, node, one.name(), "its", " runs at " + text(speed) + " only"));
      AddEvidence(
          found.back().issue, base::Printable(one.name()),
          text(speed) + "; " +
              (others.size() == 1 ? "the other one"
                                  : "the median of the other " + std::to_string(others.size())) +
              ": " + text(median),
          "/sys");
    }
  }
}

}  // namespace autodist::issues
