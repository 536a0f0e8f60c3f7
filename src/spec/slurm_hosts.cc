#include "spec/slurm_hosts.h"

#include <algorithm>
#include <iterator>

#include "base/split.h"
#include "spec/address.h"
#include "spec/host_range.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

// The names of "gpu[01-03,7],x1"; none after a report of what is wrong.
std::vector<std::string> ReadNodeList(std::string_view text, HostCollector& collector) {
  std::vector<std::string> names;
  for (const std::string_view word : SplitHostList(text)) {
    HostRange range = ExpandHostRange(word);
    if (range.wrong.empty() && names.size() + range.names.size() > kMostHosts) {
      range.wrong = TooManyHosts();
    }
    if (!range.wrong.empty()) {
      const auto begin = static_cast<size_t>(word.data() - text.data());
      collector.Report({1, begin + range.wrong_at + 1}, range.wrong);
      return {};
    }
    std::ranges::move(range.names, std::back_inserter(names));
  }
  return names;
}

// "4(x2),2" means 4, 4, 2. Empty after a report of what is wrong.
std::vector<uint32_t> ReadCounts(std::string_view text, HostCollector& collector) {
  std::vector<uint32_t> counts;
  for (std::string_view word : base::Split(text, ',')) {
    const auto begin = static_cast<size_t>(word.data() - text.data());
    const size_t open = word.find("(x");
    uint32_t times = 1;
    if (open != std::string_view::npos) {
      std::string_view number = word.substr(open + 2);
      const bool closed = number.ends_with(')');
      if (closed) number.remove_suffix(1);
      times = ReadWholeNumber(number, kMostHosts).value_or(0);
      if (!closed || times == 0 || counts.size() + times > kMostHosts) {
        collector.Report({1, begin + open + 1},
                         Quoted(word.substr(open)) + " is not a number of nodes such as '(x2)'");
        return {};
      }
      word = word.substr(0, open);
    }
    const uint32_t count = collector.ReadSlots(word, {1, begin + 1});
    if (count == 0 || counts.size() + times > kMostHosts) return {};
    counts.insert(counts.end(), times, count);
  }
  return counts;
}

// The devices that "0,1,4-7" names; nullopt if it is nothing of the kind, as "gpu:a100:2" is not.
std::optional<std::vector<uint32_t>> DeviceNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (const std::string_view part : base::Split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = ReadWholeNumber(part.substr(0, dash), kMostSlots - 1);
    const auto last = dash == std::string_view::npos
                          ? first
                          : ReadWholeNumber(part.substr(dash + 1), kMostSlots - 1);
    if (!first || !last || *last < *first || numbers.size() >= kMostSlots) return std::nullopt;
    for (uint32_t number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return numbers;
}

// Those of "gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:3),other:1(IDX:0)".
std::vector<uint32_t> GpusOf(std::string_view gres) {
  std::vector<uint32_t> numbers;
  for (size_t open = gres.find("(IDX:"); open != std::string_view::npos;
       open = gres.find("(IDX:")) {
    constexpr size_t kMark = 5;  // "(IDX:"
    const size_t close = gres.find(')', open);
    if (close == std::string_view::npos) break;
    const auto some = DeviceNumbers(gres.substr(open + kMark, close - open - kMark));
    if (gres.starts_with("gpu:") && some) numbers.insert(numbers.end(), some->begin(), some->end());
    gres.remove_prefix(std::min(close + 2, gres.size()));
  }
  return numbers;
}

// salloc's "3", "a100:3" or "gpu:a100:2,gpu:v100:1": of all types together. 0 after a report of
// what is wrong.
uint32_t ReadGpusPerNode(std::string_view text, HostCollector& collector) {
  uint32_t all = 0;
  for (const std::string_view part : base::Split(text, ',')) {
    const std::string_view number = part.substr(part.rfind(':') + 1);
    const HostCollector::Place place{1, static_cast<size_t>(number.data() - text.data()) + 1};
    const uint32_t count = collector.ReadSlots(number, place);
    if (count == 0) return 0;
    all += count;
    if (all > kMostSlots) return collector.ReadSlots(std::to_string(all), {1, 1});
  }
  return all;
}

// Devices per node: one number for all, one for each node, or none where nothing tells.
struct Counts {
  std::string variable;
  std::vector<uint32_t> of;
  bool one_for_all = false;
};

Counts DevicesPerNode(const Variables& variables, HostList& list) {
  const auto read = [&](const char* variable, const std::string& text, bool one_for_all) {
    HostCollector collector(variable);
    Counts counts{variable, ReadCounts(text, collector), one_for_all};
    if (counts.of.empty()) {
      std::ranges::move(
          collector.Take("more than " + std::to_string(kMostHosts) + " nodes").problems,
          std::back_inserter(list.problems));
    }
    return counts;
  };
  const auto ids = variables("SLURM_JOB_GPUS");
  const auto numbers = ids ? DeviceNumbers(*ids) : std::nullopt;
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    if ((*numbers)[i] == i) continue;
    list.warnings.push_back(
        "Slurm gave this job the GPUs " + *ids +
        " of this machine; the spec numbers them from 0, which is right only where Slurm confines "
        "jobs to their devices (ConstrainDevices=yes in cgroup.conf)");
    break;
  }
  if (const auto gpus = variables("SLURM_GPUS_ON_NODE"); gpus && *gpus != "0") {
    return read("SLURM_GPUS_ON_NODE", *gpus, true);
  }
  if (numbers) return {"SLURM_JOB_GPUS", {static_cast<uint32_t>(numbers->size())}, true};
  if (const auto gpus = variables("SLURM_GPUS_PER_NODE")) {
    constexpr char kVariable[] = "SLURM_GPUS_PER_NODE";
    HostCollector collector(kVariable);
    const uint32_t count = ReadGpusPerNode(*gpus, collector);
    if (count > 0) return {kVariable, {count}, true};
    std::ranges::move(collector.Take("no GPU").problems, std::back_inserter(list.problems));
    return {};
  }
  if (const auto tasks = variables("SLURM_NTASKS_PER_NODE")) {
    return read("SLURM_NTASKS_PER_NODE", *tasks, true);
  }
  if (const auto tasks = variables("SLURM_TASKS_PER_NODE")) {
    return read("SLURM_TASKS_PER_NODE", *tasks, false);
  }
  return {};
}

}  // namespace

HostList SlurmHosts(const Variables& variables) {
  HostCollector collector("SLURM_JOB_NODELIST");
  const auto text = variables("SLURM_JOB_NODELIST");
  if (!text || text->empty()) {
    return collector.Take(
        "not set, so this is not inside a Slurm allocation; get one, as by 'salloc -N 2 "
        "--gpus-per-node=4', or put this command into the script given to sbatch, as "
        "'autodist submit --slurm' does for run");
  }
  const std::vector<std::string> names = ReadNodeList(*text, collector);
  HostList counted;
  const Counts counts = DevicesPerNode(variables, counted);
  if (!names.empty() && !counts.of.empty() && !counts.one_for_all &&
      counts.of.size() != names.size()) {
    counted.problems.push_back({counts.variable, 0, 0,
                                "tells of " + std::to_string(counts.of.size()) +
                                    " nodes, but SLURM_JOB_NODELIST names " +
                                    std::to_string(names.size())});
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!CheckHost(names[i]).ok()) {
      collector.Report({1, 1}, Quoted(names[i]) + " is not a host name");
      continue;
    }
    HostEntry entry{"", names[i], std::nullopt};
    const size_t place = counts.one_for_all ? 0 : i;
    if (place < counts.of.size()) entry.slots = counts.of[place];
    collector.Add(std::move(entry), {1, 1});
  }
  HostList list = collector.Take("no host");
  list.problems.insert(list.problems.end(), counted.problems.begin(), counted.problems.end());
  list.warnings = std::move(counted.warnings);
  return list;
}

std::map<std::string, std::vector<uint32_t>> SlurmGpus(std::string_view details) {
  std::map<std::string, std::vector<uint32_t>> gpus;
  for (const std::string_view line : base::Lines(details)) {
    std::string_view nodes;
    std::string_view gres;
    for (std::string_view word : base::Split(line, ' ')) {
      constexpr std::string_view kNodes = "Nodes=";
      constexpr std::string_view kGres = "GRES=";
      if (word.starts_with(kNodes)) nodes = word.substr(kNodes.size());
      if (word.starts_with(kGres)) gres = word.substr(kGres.size());
    }
    const std::vector<uint32_t> numbers = GpusOf(gres);
    if (numbers.empty()) continue;
    for (const std::string_view word : SplitHostList(nodes)) {
      for (std::string& name : ExpandHostRange(word).names) gpus[std::move(name)] = numbers;
    }
  }
  return gpus;
}

}  // namespace autodist::spec
