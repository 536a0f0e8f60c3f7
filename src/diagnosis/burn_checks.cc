#include "diagnosis/burn_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/utf8.h"

namespace autodist::diagnosis {
namespace {

enum class RateUnit { kOperations, kBytes };  // per second

struct Scale {
  double divisor;
  std::string unit;
};

Scale ScaleOf(RateUnit unit, double rate) {
  const bool large = rate >= 1e12;
  return {large ? 1e12 : 1e9,
          std::string(large ? "T" : "G") + (unit == RateUnit::kBytes ? "B/s" : "FLOP/s")};
}

// Three digits: "649" of 6.49e14 at a divisor of 1e12.
std::string Amount(double rate, double divisor) {
  const double amount = rate / divisor;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", amount < 10 ? 2 : amount < 100 ? 1 : 0, amount);
  return text;
}

// "641 to 649 TFLOP/s"; "649 TFLOP/s" if both look the same.
std::string RateRange(RateUnit unit, double least, double most) {
  const Scale scale = ScaleOf(unit, most);
  const std::string from = Amount(least, scale.divisor);
  const std::string to = Amount(most, scale.divisor);
  return (from == to ? "" : from + " to ") + to + " " + scale.unit;
}

// "584 of 649 TFLOP/s (90 %)"
std::string RateOf(RateUnit unit, double rate, double usual) {
  const Scale scale = ScaleOf(unit, usual);
  return Amount(rate, scale.divisor) + " of " + Amount(usual, scale.divisor) + " " + scale.unit +
         " (" + std::to_string(std::lround(100 * rate / usual)) + " %)";
}

// Adds an issue of one node to a diagnosis that is complete, and sets the result of this check.
// Errors stay first.
void AddIssue(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what,
              const std::string& remedy, v1::Diagnosis& diagnosis) {
  v1::DiagnosedIssue issue;
  issue.set_check(check);
  issue.set_result(result);
  issue.add_nodes(node);
  issue.set_what(what);
  issue.set_remedy(remedy);
  *diagnosis.add_issues() = std::move(issue);
  std::ranges::stable_sort(*diagnosis.mutable_issues(), std::greater(),
                           &v1::DiagnosedIssue::result);
  auto& checks = *diagnosis.mutable_nodes(static_cast<int>(node))->mutable_checks();
  const auto outcome = std::ranges::find(checks, check, &v1::CheckOutcome::check);
  if (outcome != checks.end() && outcome->result() != v1::CHECK_RESULT_BAD)
    outcome->set_result(result);
}

constexpr char kWrongRemedy[] =
    "leave the node out and have the device examined: it computes wrong results";
constexpr char kSlowRemedy[] =
    "see whether another program uses it; then its clocks and temperature (nvidia-smi -q), its "
    "cooling and, for copies, its PCIe link";
constexpr char kStoppedRemedy[] =
    "see the CPU quota of the control group (cpu.max; --cpus of a container) and, on a virtual "
    "machine, the load of the host";

// Devices of the same name, and a kind of work. The distance between GPUs depends on their position
// in the node, so those are compared with the same ones of other nodes.
struct Key {
  std::string device;
  v1::BurnWork work;
  std::string position = {};

  auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Rates = std::map<Key, std::vector<double>>;

// What most devices of a key reach.
struct Usual {
  double rate = 0;    // the median
  double spread = 0;  // how far most are from it
};

const char* NameOf(v1::BurnWork work) {
  switch (work) {
    case v1::BURN_WORK_MATRIX:
      return "matrix products";
    case v1::BURN_WORK_ARITHMETIC:
      return "arithmetic";
    case v1::BURN_WORK_MEMORY:
    case v1::BURN_WORK_HOST_MEMORY:
      return "memory";
    case v1::BURN_WORK_TO_DEVICE:
      return "copies to it";
    case v1::BURN_WORK_FROM_DEVICE:
      return "copies from it";
    case v1::BURN_WORK_BETWEEN_DEVICES:
      return "copies to the next GPU";
    default:
      return "other work";
  }
}

RateUnit UnitOf(v1::BurnWork work) {
  const bool operations = work == v1::BURN_WORK_MATRIX || work == v1::BURN_WORK_ARITHMETIC;
  return operations ? RateUnit::kOperations : RateUnit::kBytes;
}

Key KeyOf(const v1::BurnedDevice& device, v1::BurnWork work) {
  return {device.result().device(), work,
          work == v1::BURN_WORK_BETWEEN_DEVICES ? device.name() : ""};
}

bool IsCpu(const v1::BurnedDevice& device) {
  return std::ranges::count(device.result().rates(), v1::BURN_WORK_HOST_MEMORY,
                            &v1::BurnRate::work) > 0;
}

double LeastShare(const v1::BurnedDevice& device, v1::BurnWork work) {
  if (work == v1::BURN_WORK_HOST_MEMORY) return kSlowHostMemory;
  return IsCpu(device) ? kSlowCpu : kSlow;
}

Usual UsualOf(const std::vector<double>& rates) {
  const double median = base::Median(rates);
  std::vector<double> distances;
  distances.reserve(rates.size());
  for (const double rate : rates) distances.push_back(std::abs(rate - median));
  return {median, base::Median(std::move(distances))};
}

// CPUs differ more than GPUs, because other programs and machines share them, and if there are two
// kinds of machines.
double LeastRate(const v1::BurnedDevice& device, v1::BurnWork work, const Usual& usual) {
  const double least = usual.rate * LeastShare(device, work);
  return IsCpu(device) ? std::min(least, usual.rate - kSpreads * usual.spread) : least;
}

// "memory 3.83 of 4.26 TB/s (90 %)"; "": it is as fast as the others.
std::string SlowWorks(const v1::BurnedDevice& device, const std::map<Key, Usual>& all) {
  std::string slow;
  for (const v1::BurnRate& rate : device.result().rates()) {
    const Usual& usual = all.at(KeyOf(device, rate.work()));
    if (rate.rate() >= LeastRate(device, rate.work(), usual)) continue;
    slow += (slow.empty() ? "" : ", ") + std::string(NameOf(rate.work())) + " " +
            RateOf(UnitOf(rate.work()), rate.rate(), usual.rate);
  }
  return slow;
}

constexpr char kSlowLinkRemedy[] =
    "see the speed and the errors of the network interfaces (ip -s link, ethtool, ibstat), then "
    "the cable and the port of the switch";
constexpr char kWrongLinkRemedy[] =
    "leave the node out and have its memory and network interfaces examined";

struct Links {           // of a node
  double best = 0;       // rate
  std::string partners;  // "10.0.0.2 and 10.0.0.5"
  uint64_t wrong = 0;
};

std::map<uint32_t, Links> NodesWithLinks(const v1::Diagnosis& diagnosis) {
  std::map<uint32_t, Links> nodes;
  for (const v1::MeasuredLink& link : diagnosis.links()) {
    const v1::ExchangeRate& exchange = link.exchange();
    Links& node = nodes[link.node()];
    node.best = std::max(node.best, exchange.rate());
    node.partners += (node.partners.empty() ? "" : " and ") +
                     diagnosis.nodes(static_cast<int>(exchange.partner())).address();
    node.wrong += exchange.wrong();
  }
  return nodes;
}

}  // namespace

void JudgeDevices(v1::Diagnosis& diagnosis) {
  Rates rates;
  for (const v1::BurnedDevice& device : diagnosis.burned()) {
    for (const v1::BurnRate& rate : device.result().rates())
      rates[KeyOf(device, rate.work())].push_back(rate.rate());
  }
  std::map<Key, Usual> usual;
  for (const auto& [key, of_key] : rates) usual[key] = UsualOf(of_key);
  for (const v1::BurnedDevice& device : diagnosis.burned()) {
    const auto add = [&](v1::CheckResult result, const std::string& what, const char* remedy) {
      AddIssue(v1::CHECK_HEALTH, result, device.node(), device.name() + " " + what, remedy,
               diagnosis);
    };
    const v1::BurnResult& result = device.result();
    const std::string slow = SlowWorks(device, usual);
    if (!slow.empty())
      add(v1::CHECK_RESULT_WARNING, "is slower than others like it: " + slow, kSlowRemedy);
    if (result.stopped() > 1 - kSlow) {
      add(v1::CHECK_RESULT_WARNING,
          "could not run for " + base::Percent(result.stopped()) + " of the time", kStoppedRemedy);
    }
    if (result.wrong() > 0) {
      add(v1::CHECK_RESULT_BAD, "computed " + base::Count(result.wrong(), "wrong number"),
          kWrongRemedy);
    }
  }
}

std::string DevicesAsText(const v1::Diagnosis& diagnosis) {
  Rates all;
  for (const v1::BurnedDevice& device : diagnosis.burned()) {
    for (const v1::BurnRate& rate : device.result().rates())
      all[{device.result().device(), rate.work()}].push_back(rate.rate());
  }
  std::map<std::string, std::string> lines;  // by name of a device
  for (const auto& [key, rates] : all) {
    std::string& line = lines[key.device];
    if (line.empty()) {
      line = base::Count(rates.size(), "device") + " (" + base::Printable(key.device) + ")";
    }
    const auto [least, most] = std::ranges::minmax(rates);
    line += (line.ends_with(')') ? ": " : ", ") + std::string(NameOf(key.work)) + " " +
            RateRange(UnitOf(key.work), least, most);
  }
  std::string text;
  for (const auto& [device, line] : lines) text += line + "\n";
  return text;
}

void JudgeLinks(v1::Diagnosis& diagnosis) {
  const std::map<uint32_t, Links> nodes = NodesWithLinks(diagnosis);
  if (nodes.empty()) return;
  std::vector<double> rates;
  rates.reserve(nodes.size());
  for (const auto& [rank, node] : nodes) rates.push_back(node.best);
  const double usual = base::Median(rates);
  for (const auto& [rank, node] : nodes) {
    if (node.best < usual * kSlowLink) {
      AddIssue(v1::CHECK_NETWORK, v1::CHECK_RESULT_WARNING, rank,
               "exchanged data more slowly than others: " +
                   RateOf(RateUnit::kBytes, node.best, usual) + ", with " + node.partners,
               kSlowLinkRemedy, diagnosis);
    }
    if (node.wrong > 0) {
      AddIssue(v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, rank,
               "received " + base::Count(node.wrong, "wrong number") + " from " + node.partners,
               kWrongLinkRemedy, diagnosis);
    }
  }
}

std::string LinksAsText(const v1::Diagnosis& diagnosis) {
  const std::map<uint32_t, Links> nodes = NodesWithLinks(diagnosis);
  if (nodes.empty()) return "";
  std::vector<double> rates;
  for (const v1::MeasuredLink& link : diagnosis.links()) rates.push_back(link.exchange().rate());
  const auto [least, most] = std::ranges::minmax(rates);
  return base::Count(nodes.size(), "node") +
         " in pairs: " + RateRange(RateUnit::kBytes, least, most) + " in each direction\n";
}

}  // namespace autodist::diagnosis
