#include "slurm/hosts.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse_number.h"
#include "base/quantity.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/issue.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::slurm {
namespace {

// The number of devices of each node in a Slurm job, according to Slurm's variables.
struct SlurmDevices {
  std::vector<std::optional<uint32_t>> of;  // by node; nullopt: unknown
  std::vector<spec::Issue> issues;
  std::vector<std::string> warnings;  // what is unknown, with the contradicting variables
};

// Parses device numbers such as "0,1,4-7"; nullopt for other texts, such as "gpu:a100:2".
std::optional<std::vector<uint32_t>> DeviceNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (const std::string_view part : base::Split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = spec::ReadWholeNumber(part.substr(0, dash), spec::kMaxSlots - 1);
    const auto last = dash == std::string_view::npos
                          ? first
                          : spec::ReadWholeNumber(part.substr(dash + 1), spec::kMaxSlots - 1);
    if (!first || !last || *last < *first || numbers.size() >= spec::kMaxSlots) return std::nullopt;
    for (uint32_t number = *first; number <= *last; ++number) numbers.push_back(number);
  }
  return numbers;
}

// "4(x2),2" means 4, 4, 2. Empty after reporting an issue.
std::vector<uint32_t> ReadCounts(std::string_view text, spec::HostCollector& collector) {
  std::vector<uint32_t> counts;
  for (std::string_view word : base::Split(text, ',')) {
    const auto begin = static_cast<size_t>(word.data() - text.data());
    const size_t open = word.find("(x");
    uint32_t times = 1;
    if (open != std::string_view::npos) {
      std::string_view number = word.substr(open + 2);
      const bool closed = number.ends_with(')');
      if (closed) number.remove_suffix(1);
      times = spec::ReadWholeNumber(number, spec::kMaxHosts).value_or(0);
      if (!closed || times == 0 || counts.size() + times > spec::kMaxHosts) {
        collector.Report({0, begin + open + 1}, spec::Quoted(word.substr(open)) +
                                                    " is not a number of nodes such as '(x2)'");
        return {};
      }
      word = word.substr(0, open);
    }
    const uint32_t count = collector.ReadSlots(word, {0, begin + 1});
    if (count == 0 || counts.size() + times > spec::kMaxHosts) return {};
    counts.insert(counts.end(), times, count);
  }
  return counts;
}

// Parses salloc's "3", "a100:3" or "gpu:a100:2,gpu:v100:1", and sums all types. 0 after reporting
// an issue.
uint32_t ReadGpuCount(std::string_view text, spec::HostCollector& collector) {
  uint32_t all = 0;
  for (const std::string_view part : base::Split(text, ',')) {
    const std::string_view number = part.substr(part.rfind(':') + 1);
    const spec::HostCollector::Place place{0, static_cast<size_t>(number.data() - text.data()) + 1};
    const uint32_t count = collector.ReadSlots(number, place);
    if (count == 0) return 0;
    all += count;
    if (all > spec::kMaxSlots) return collector.ReadSlots(std::to_string(all), {0, 1});
  }
  return all;
}

// The values of the variables, each by itself; missing if not set or invalid.
struct Said {
  std::optional<uint32_t> here;      // GPUs of the current node
  std::optional<uint32_t> per_node;  // GPUs of each node
  std::optional<uint32_t> all;       // GPUs of all nodes
  std::vector<uint32_t> tasks;       // for each node
  size_t here_at = 0;                // index of the current node
  std::string here_variable;
};

// Parses by `read`, without reporting issues.
template <typename Read>
auto Quietly(const Variables& variables, const char* name, Read read) {
  spec::HostCollector ignored(name);
  const auto text = variables(name);
  return text ? read(*text, ignored) : decltype(read(*text, ignored)){};
}

std::optional<uint32_t> NonZero(uint32_t count) {
  return count > 0 ? std::optional(count) : std::nullopt;
}

size_t PlaceOfThisNode(const Variables& variables, const std::vector<std::string>& names) {
  const auto own = std::ranges::find(names, variables("SLURMD_NODENAME").value_or(""));
  if (own != names.end()) return static_cast<size_t>(own - names.begin());
  const auto number =
      spec::ReadWholeNumber(variables("SLURM_NODEID").value_or("0"), spec::kMaxHosts);
  return std::min<size_t>(number.value_or(0), names.empty() ? 0 : names.size() - 1);
}

// Returns the GPUs of each node's tasks, if all tasks have the same number.
std::vector<uint32_t> GpusByTasks(const Variables& variables, std::vector<uint32_t> tasks) {
  const auto times = Quietly(variables, "SLURM_GPUS_PER_TASK", ReadGpuCount);
  const auto shared = Quietly(variables, "SLURM_NTASKS_PER_GPU", ReadGpuCount);
  for (uint32_t& count : tasks) {
    if (times > 0) count *= std::min(times, spec::kMaxSlots);
    if (shared > 0) count /= shared;
  }
  return tasks;
}

Said WhatIsSaid(const Variables& variables, const std::vector<std::string>& names) {
  Said said;
  said.here_at = PlaceOfThisNode(variables, names);
  said.per_node = NonZero(Quietly(variables, "SLURM_GPUS_PER_NODE", ReadGpuCount));
  said.all = NonZero(Quietly(variables, "SLURM_GPUS", ReadGpuCount));
  said.tasks = GpusByTasks(variables, Quietly(variables, "SLURM_TASKS_PER_NODE", ReadCounts));
  if (said.tasks.size() != names.size()) said.tasks.clear();
  const auto ids = variables("SLURM_JOB_GPUS");
  const auto numbers = ids ? DeviceNumbers(*ids) : std::nullopt;
  if (numbers) said.here = static_cast<uint32_t>(numbers->size());
  said.here_variable = numbers ? "SLURM_JOB_GPUS" : "";
  return said;
}

std::string Is(const Variables& variables, const std::string& name) {
  return name + " is " + spec::Quoted(variables(name).value_or(""));
}

uint32_t SumOf(const std::vector<uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0U);
}

void SetAll(const std::vector<uint32_t>& counts, SlurmDevices& devices) {
  std::ranges::copy(counts, devices.of.begin());
}

// Uses the known GPUs of this node.
void FromThisNode(const Said& said, const Variables& variables, SlurmDevices& devices) {
  const auto nodes = static_cast<uint32_t>(devices.of.size());
  const uint32_t here = *said.here;
  const auto contradict = [&](const char* other, const std::string& what) {
    devices.warnings.push_back(Is(variables, said.here_variable) + ", of this node alone, and " +
                               Is(variables, other) + ": " + what + "; `gpus` of the spec has to " +
                               "be what each node has");
  };
  std::ranges::fill(devices.of, here);
  if (nodes == 1) {
    if (said.all && *said.all < here) {
      devices.of[0] = said.all;
      contradict("SLURM_GPUS", "the smaller number is taken");
    }
    return;
  }
  if (said.per_node) {
    std::ranges::fill(devices.of, said.per_node);
    if (here != *said.per_node) contradict("SLURM_GPUS_PER_NODE", "the latter is taken");
    return;
  }
  if (said.all == here * nodes) return;
  const bool unlike =
      std::ranges::any_of(said.tasks, [&](uint32_t count) { return count != said.tasks.front(); });
  const bool fits = !said.tasks.empty() && said.tasks[said.here_at] == here;
  if (said.all ? fits && SumOf(said.tasks) == *said.all : unlike && fits) {
    return SetAll(said.tasks, devices);
  }
  if (said.all && nodes == 2 && *said.all > here) {
    devices.of[1 - said.here_at] = *said.all - here;
  } else if (said.all) {
    std::ranges::fill(devices.of, std::nullopt);
    devices.of[said.here_at] = std::min(here, *said.all);
    contradict("SLURM_GPUS", "how many the other nodes have is not known");
  } else if (unlike) {
    contradict("SLURM_TASKS_PER_NODE", "the former is taken for all nodes");
  }
}

// Called if no variable is about this node.
void FromAll(const Said& said, const Variables& variables, SlurmDevices& devices) {
  const auto nodes = static_cast<uint32_t>(devices.of.size());
  if (!said.tasks.empty() && SumOf(said.tasks) == *said.all) return SetAll(said.tasks, devices);
  const bool even = *said.all % nodes == 0;
  if (even) std::ranges::fill(devices.of, *said.all / nodes);
  if (nodes == 1) return;
  devices.warnings.push_back(
      Is(variables, "SLURM_GPUS") + " for " + base::Count(nodes, "node") +
      ", and nothing says how many each has" +
      (even ? "; they are taken to be alike" : "; `gpus` of the spec has to be corrected"));
}

void WarnOfNumbers(const Variables& variables, SlurmDevices& devices) {
  const auto ids = variables("SLURM_JOB_GPUS");
  const auto numbers = ids ? DeviceNumbers(*ids) : std::nullopt;
  if (ids && !ids->empty() && !numbers) {
    devices.warnings.push_back(Is(variables, "SLURM_JOB_GPUS") +
                               ", which is no list of device numbers and is not used");
  }
  for (size_t i = 0; numbers && i < numbers->size(); ++i) {
    if ((*numbers)[i] == i) continue;
    devices.warnings.push_back(
        "Slurm gave this job the GPUs " + *ids +
        " of this machine; the spec numbers them from 0, which is right only where Slurm confines "
        "jobs to their devices (ConstrainDevices=yes in cgroup.conf)");
    break;
  }
}

// Parses a variable that is used, and reports issues.
template <typename Read>
auto Loudly(const Variables& variables, const char* name, Read read, SlurmDevices& devices) {
  spec::HostCollector collector(name);
  auto counts = read(variables(name).value_or(""), collector);
  if (counts != decltype(read("", collector)){}) return counts;
  std::ranges::move(collector.Take("").issues, std::back_inserter(devices.issues));
  return counts;
}

void FromTasks(const Variables& variables, SlurmDevices& devices) {
  const bool alike = variables("SLURM_NTASKS_PER_NODE").has_value();
  const char* const name = alike ? "SLURM_NTASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
  if (!variables(name)) return;
  const std::vector<uint32_t> tasks = Loudly(variables, name, ReadCounts, devices);
  if (!devices.issues.empty() || tasks.empty()) return;
  if (alike) {
    std::ranges::fill(devices.of, tasks.front());
  } else if (tasks.size() == devices.of.size()) {
    SetAll(tasks, devices);
  } else if (!devices.of.empty()) {
    devices.issues.push_back({name, 0, 0,
                              "has values for " + std::to_string(tasks.size()) +
                                  " nodes, but SLURM_JOB_NODELIST names " +
                                  std::to_string(devices.of.size())});
  }
}

// SLURM_GPUS_ON_NODE is about the current node; other variables show whether it can apply to all
// nodes.
SlurmDevices DevicesOfNodes(const Variables& variables, const std::vector<std::string>& names) {
  SlurmDevices devices;
  devices.of.resize(names.size());
  if (names.empty()) return devices;
  WarnOfNumbers(variables, devices);
  Said said = WhatIsSaid(variables, names);
  if (variables("SLURM_GPUS_ON_NODE").value_or("0") != "0") {
    const auto here = Loudly(variables, "SLURM_GPUS_ON_NODE", ReadCounts, devices);
    if (here.empty()) return devices;
    said.here = here.front();
    said.here_variable = "SLURM_GPUS_ON_NODE";
  }
  if (said.here) {
    FromThisNode(said, variables, devices);
  } else if (variables("SLURM_GPUS_PER_NODE")) {
    const uint32_t count = Loudly(variables, "SLURM_GPUS_PER_NODE", ReadGpuCount, devices);
    if (count > 0) std::ranges::fill(devices.of, count);
  } else if (said.all) {
    FromAll(said, variables, devices);
  } else {
    FromTasks(variables, devices);
  }
  return devices;
}

// Expands "gpu[01-03,7],x1"; empty after reporting an issue.
std::vector<std::string> ReadNodeList(std::string_view text, spec::HostCollector& collector) {
  std::vector<std::string> names;
  for (const std::string_view word : spec::SplitHostList(text)) {
    spec::HostRange range = spec::ExpandHostRange(word);
    if (range.wrong.empty() && names.size() + range.names.size() > spec::kMaxHosts) {
      range.wrong = spec::TooManyHosts();
    }
    if (!range.wrong.empty()) {
      const auto begin = static_cast<size_t>(word.data() - text.data());
      collector.Report({0, begin + range.wrong_at + 1}, range.wrong);
      return {};
    }
    std::ranges::move(range.names, std::back_inserter(names));
  }
  return names;
}

// Splits at commas outside of parentheses.
std::vector<std::string_view> GresEntries(std::string_view gres) {
  std::vector<std::string_view> entries;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= gres.size(); ++i) {
    const char c = i < gres.size() ? gres[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < gres.size())) continue;
    entries.push_back(gres.substr(begin, i - begin));
    begin = i + 1;
  }
  return entries;
}

// Parses "gpu:a100:2(IDX:0-1)", "gpu(IDX:0-1)" before Slurm 19, and "gpu:2" or "gpu:2(CNT:2)" where
// Slurm only counts them.
std::vector<uint32_t> GpusOfEntry(std::string_view entry) {
  constexpr std::string_view kMark = "(IDX:";
  const size_t open = entry.find('(');
  const std::string_view name = entry.substr(0, open);
  if (name != "gpu" && !name.starts_with("gpu:")) return {};
  if (open != std::string_view::npos && entry.substr(open).starts_with(kMark)) {
    const size_t close = entry.find(')', open);
    if (close == std::string_view::npos) return {};
    const size_t begin = open + kMark.size();
    return DeviceNumbers(entry.substr(begin, close - begin)).value_or(std::vector<uint32_t>());
  }
  if (open != std::string_view::npos && !entry.ends_with(')')) return {};
  const auto count = spec::ReadWholeNumber(name.substr(name.rfind(':') + 1), spec::kMaxSlots);
  std::vector<uint32_t> numbers(count.value_or(0));
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

// Parses "gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:3),other:1(IDX:0)".
std::vector<uint32_t> GpusOf(std::string_view gres) {
  std::vector<uint32_t> numbers;
  for (const std::string_view entry : GresEntries(gres)) {
    const std::vector<uint32_t> some = GpusOfEntry(entry);
    numbers.insert(numbers.end(), some.begin(), some.end());
  }
  return numbers;
}

// The number of components of a heterogeneous job, and the suffix of their variables; 1 for others.
struct Components {
  uint32_t count = 1;
  std::string suffix;  // before the number
};

Components ComponentsOf(const Variables& variables) {
  for (const auto& [size, suffix] :
       {std::pair("SLURM_HET_SIZE", "_HET_GROUP_"), std::pair("SLURM_PACK_SIZE", "_PACK_GROUP_")}) {
    const auto count = spec::ReadWholeNumber(variables(size).value_or(""), spec::kMaxHosts);
    if (count.value_or(0) > 1) return {*count, suffix};
  }
  return {};
}

// Returns the variables as if the component were the whole job. Variables without a suffix are
// about the component in which this process runs.
Variables OfComponent(const Variables& variables, const std::string& suffix) {
  const auto nodes = variables("SLURM_JOB_NODELIST" + suffix);
  const bool own = nodes && nodes == variables("SLURM_JOB_NODELIST");
  return [&variables, suffix, own](const std::string& name) {
    auto value = variables(name + suffix);
    if (!value && own) value = variables(name);
    return value;
  };
}

void AddHosts(const Variables& variables, spec::HostList& all) {
  spec::HostCollector collector("SLURM_JOB_NODELIST");
  const std::vector<std::string> names = ReadNodeList(*variables("SLURM_JOB_NODELIST"), collector);
  SlurmDevices devices = DevicesOfNodes(variables, names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!spec::CheckHost(names[i]).ok()) {
      collector.Report({0, 1}, spec::Quoted(names[i]) + " is not a host name");
      continue;
    }
    collector.Add({"", names[i], i < devices.of.size() ? devices.of[i] : std::nullopt}, {0, 1});
  }
  spec::HostList list = collector.Take("no host");
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(all.hosts, list.hosts);
  append(all.issues, list.issues);
  append(all.issues, devices.issues);
  append(all.warnings, devices.warnings);
}

}  // namespace

spec::HostList SlurmHosts(const Variables& variables) {
  const auto text = variables("SLURM_JOB_NODELIST");
  if (!text || text->empty()) {
    return spec::HostCollector("SLURM_JOB_NODELIST")
        .Take("not set: this shell is not inside a Slurm allocation; get one with salloc");
  }
  spec::HostList list;
  const Components components = ComponentsOf(variables);
  if (components.count == 1) {
    AddHosts(variables, list);
    return list;
  }
  for (uint32_t i = 0; i < components.count; ++i) {
    const std::string suffix = components.suffix + std::to_string(i);
    if (variables("SLURM_JOB_NODELIST" + suffix).value_or("").empty()) {
      list.warnings.push_back("component " + std::to_string(i) + " of this heterogeneous job of " +
                              std::to_string(components.count) +
                              " is left out: SLURM_JOB_NODELIST" + suffix + " is not set");
      continue;
    }
    AddHosts(OfComponent(variables, suffix), list);
  }
  if (list.hosts.empty() && list.issues.empty()) AddHosts(variables, list);
  return list;
}

uint64_t TasksOfStep(const Variables& variables) {
  // Numbers from here on are those of batch scripts and of the shells of salloc. Source: slurm.h.
  constexpr uint64_t kFirstSpecialStep = 0xfffffff0;
  const auto number = [&](const char* name) {
    return base::ParseNumber<uint64_t>(variables(name).value_or(""));
  };
  const auto step = number("SLURM_STEP_ID");
  if (!step || *step >= kFirstSpecialStep) return 1;
  const auto tasks = number("SLURM_STEP_NUM_TASKS");
  return std::max<uint64_t>(tasks.value_or(number("SLURM_NTASKS").value_or(1)), 1);
}

std::string LeftOutComponents(const Variables& variables) {
  const Components components = ComponentsOf(variables);
  if (components.count == 1) return "";
  return "this heterogeneous job has " + std::to_string(components.count) +
         " components, of which --slurm uses one, with the nodes " +
         variables("SLURM_JOB_NODELIST").value_or("") + "; the others are left out";
}

std::map<std::string, std::vector<uint32_t>> SlurmGpus(std::string_view details) {
  std::map<std::string, std::vector<uint32_t>> gpus;
  for (const std::string_view line : base::Lines(details)) {
    std::string_view nodes;
    std::string_view gres;
    for (std::string_view word : base::Split(line, ' ')) {
      constexpr std::string_view kNodes = "Nodes=";
      constexpr std::string_view kGres = "GRES=";
      constexpr std::string_view kOlder = "GRES_IDX=";
      if (word.starts_with(kNodes)) nodes = word.substr(kNodes.size());
      if (word.starts_with(kGres)) gres = word.substr(kGres.size());
      if (word.starts_with(kOlder)) gres = word.substr(kOlder.size());
    }
    const std::vector<uint32_t> numbers = GpusOf(gres);
    if (numbers.empty()) continue;
    for (const std::string_view word : spec::SplitHostList(nodes)) {
      for (std::string& name : spec::ExpandHostRange(word).names) gpus[std::move(name)] = numbers;
    }
  }
  return gpus;
}

}  // namespace autodist::slurm
