#include "slurm/hosts.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/split.h"
#include "slurm/devices.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::slurm {
namespace {

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
      collector.Report({1, begin + range.wrong_at + 1}, range.wrong);
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
      collector.Report({1, 1}, spec::Quoted(names[i]) + " is not a host name");
      continue;
    }
    collector.Add({"", names[i], i < devices.of.size() ? devices.of[i] : std::nullopt}, {1, 1});
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
        .Take(
            "not set: this shell is not inside a Slurm allocation; get one with salloc, or use "
            "`autodist submit --slurm`");
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
