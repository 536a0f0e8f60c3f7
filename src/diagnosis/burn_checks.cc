#include "diagnosis/burn_checks.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "base/median.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace autodist::diagnosis {
namespace {

constexpr char kWrongRemedy[] =
    "leave the node out and have the device examined: it computes wrong results";
constexpr char kSlowRemedy[] =
    "see whether another program uses it; then its clocks and temperature (nvidia-smi -q), its "
    "cooling and, for copies, its PCIe link";

using Key = std::pair<std::string, v1::BurnWork>;  // name of a device, and its work

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
    default:
      return "other work";
  }
}

bool IsOfBytes(v1::BurnWork work) {
  return work != v1::BURN_WORK_MATRIX && work != v1::BURN_WORK_ARITHMETIC;
}

// "649" of 6.49e14 operations, with the unit "TFLOP/s".
std::string Amount(double rate, double unit) {
  char text[32];
  std::snprintf(text, sizeof text,
                rate / unit < 10    ? "%.2f"
                : rate / unit < 100 ? "%.1f"
                                    : "%.0f",
                rate / unit);
  return text;
}

// "641 to 649 TFLOP/s"
std::string Range(v1::BurnWork work, double least, double most) {
  const bool large = most >= 1e12;
  const std::string unit = std::string(large ? "T" : "G") + (IsOfBytes(work) ? "B/s" : "FLOP/s");
  const double divisor = large ? 1e12 : 1e9;
  const std::string from = Amount(least, divisor);
  const std::string to = Amount(most, divisor);
  return (from == to ? "" : from + " to ") + to + " " + unit;
}

std::map<Key, std::vector<double>> RatesIn(const v1::Diagnosis& diagnosis) {
  std::map<Key, std::vector<double>> rates;
  for (const v1::BurnedDevice& device : diagnosis.burned()) {
    for (const v1::BurnRate& rate : device.result().rates()) {
      rates[{device.result().device(), rate.work()}].push_back(rate.rate());
    }
  }
  return rates;
}

void SetHealth(v1::CheckResult result, v1::NodeChecks& node) {
  const auto check =
      std::ranges::find(*node.mutable_checks(), v1::CHECK_HEALTH, &v1::CheckOutcome::check);
  if (check != node.mutable_checks()->end() && check->result() != v1::CHECK_RESULT_BAD)
    check->set_result(result);
}

void Add(v1::CheckResult result, const v1::BurnedDevice& device, const std::string& what,
         const char* remedy, v1::Diagnosis& diagnosis) {
  v1::DiagnosedIssue issue;
  issue.set_check(v1::CHECK_HEALTH);
  issue.set_result(result);
  issue.add_nodes(device.node());
  issue.set_what(device.name() + " " + what);
  issue.set_remedy(remedy);
  *diagnosis.add_issues() = std::move(issue);
  SetHealth(result, *diagnosis.mutable_nodes(static_cast<int>(device.node())));
}

bool IsCpu(const v1::BurnedDevice& device) {
  return std::ranges::count(device.result().rates(), v1::BURN_WORK_HOST_MEMORY,
                            &v1::BurnRate::work) > 0;
}

double LeastShare(const v1::BurnedDevice& device, v1::BurnWork work) {
  if (work == v1::BURN_WORK_HOST_MEMORY) return kSlowHostMemory;
  return IsCpu(device) ? kSlowCpu : kSlow;
}

// "memory 3.83 of 4.26 TB/s"; "": it is as fast as the others.
std::string SlowWorks(const v1::BurnedDevice& device,
                      const std::map<Key, std::vector<double>>& rates) {
  std::string slow;
  for (const v1::BurnRate& rate : device.result().rates()) {
    const std::vector<double>& all = rates.at({device.result().device(), rate.work()});
    const double usual = base::Median(all);
    const double limit = usual * LeastShare(device, rate.work());
    if (rate.rate() >= limit) continue;
    const auto slow_ones = std::ranges::count_if(all, [&](double one) { return one < limit; });
    if (IsCpu(device) && slow_ones > std::max<std::ptrdiff_t>(1, std::ssize(all) / 4)) continue;
    const bool large = usual >= 1e12;
    slow += (slow.empty() ? "" : ", ") + std::string(NameOf(rate.work())) + " " +
            Amount(rate.rate(), large ? 1e12 : 1e9) + " of " + Range(rate.work(), usual, usual) +
            " (" + std::to_string(std::lround(100 * rate.rate() / usual)) + " %)";
  }
  return slow;
}

}  // namespace

void JudgeBurn(v1::Diagnosis& diagnosis) {
  const auto rates = RatesIn(diagnosis);
  for (const v1::BurnedDevice& device : diagnosis.burned()) {
    const std::string slow = SlowWorks(device, rates);
    if (!slow.empty()) {
      Add(v1::CHECK_RESULT_WARNING, device, "is slower than others like it: " + slow, kSlowRemedy,
          diagnosis);
    }
    if (device.result().wrong() > 0) {
      Add(v1::CHECK_RESULT_BAD, device,
          "computed " + base::Count(device.result().wrong(), "wrong number"), kWrongRemedy,
          diagnosis);
    }
  }
  // Errors first.
  std::ranges::stable_sort(*diagnosis.mutable_issues(), std::greater(),
                           &v1::DiagnosedIssue::result);
}

std::string BurnAsText(const v1::Diagnosis& diagnosis) {
  std::map<std::string, std::string> lines;  // by name of a device
  for (const auto& [key, rates] : RatesIn(diagnosis)) {
    const auto& [device, work] = key;
    std::string& line = lines[device];
    if (line.empty()) {
      line = base::Count(rates.size(), "device") + " (" + base::Printable(device) + ")";
    }
    const auto [least, most] = std::ranges::minmax(rates);
    line += (line.ends_with(')') ? ": " : ", ") + std::string(NameOf(work)) + " " +
            Range(work, least, most);
  }
  std::string text;
  for (const auto& [device, line] : lines) text += line + "\n";
  return text;
}

}  // namespace autodist::diagnosis
