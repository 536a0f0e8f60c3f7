#include "spec/slurm_hosts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "base/split.h"
#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kMostDigits = 9;  // a number of them fits into 32 bits

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Reads "gpu[01-03,7],x1,rack[1-2]n[1-4]" from left to right.
class NodeList {
 public:
  NodeList(std::string_view text, HostCollector& collector) : text_(text), collector_(collector) {}

  // Adds the names one by one; false after a report of what is wrong.
  bool Read(std::vector<std::string>& names) {
    for (;;) {
      const size_t begin = at_;
      std::vector<std::string> expanded = {""};
      while (at_ < text_.size() && text_[at_] != ',') {
        const bool right = text_[at_] == '[' ? ReadBrackets(expanded) : ReadLiteral(expanded);
        if (!right) return false;
      }
      if (at_ == begin) return Wrong(at_, "a host name is missing here");
      if (names.size() + expanded.size() > kMostHosts) return TooMany();
      names.insert(names.end(), expanded.begin(), expanded.end());
      if (at_ == text_.size()) return true;
      ++at_;  // the comma
    }
  }

 private:
  bool Wrong(size_t at, const std::string& what) {
    collector_.Report({1, at + 1}, what);
    return false;
  }
  bool TooMany() {
    return Wrong(at_, "more than " + std::to_string(kMostHosts) +
                          " hosts, which is more than a resource spec holds");
  }

  bool ReadLiteral(std::vector<std::string>& expanded) {
    const size_t end = std::min(text_.find_first_of("[,", at_), text_.size());
    const std::string_view literal = text_.substr(at_, end - at_);
    if (const size_t stray = literal.find(']'); stray != std::string_view::npos) {
      return Wrong(at_ + stray, "']' without a '[' before it");
    }
    const bool right = Append(expanded, {std::string(literal)});
    at_ = end;
    return right;
  }

  // Puts each of the endings behind each of the names.
  bool Append(std::vector<std::string>& names, const std::vector<std::string>& endings) {
    if (names.size() * endings.size() > kMostHosts) return TooMany();
    std::vector<std::string> longer;
    longer.reserve(names.size() * endings.size());
    for (const std::string& name : names) {
      for (const std::string& ending : endings) {
        if (name.size() + ending.size() > kLongestName) {
          return Wrong(at_,
                       "a host name of more than " + std::to_string(kLongestName) + " characters");
        }
        longer.push_back(name + ending);
      }
    }
    names = std::move(longer);
    return true;
  }

  bool ReadBrackets(std::vector<std::string>& expanded) {
    const size_t open = at_++;
    std::vector<std::string> endings;
    for (;;) {
      if (!ReadRange(endings)) return false;
      if (at_ == text_.size()) return Wrong(open, "'[' without a ']' after it");
      const char next = text_[at_++];
      if (next == ']') return Append(expanded, endings);
      if (next != ',') {
        return Wrong(at_ - 1, Quoted(text_.substr(at_ - 1, 1)) +
                                  " inside brackets, which hold numbers and ranges such as 01-16");
      }
    }
  }

  // "7" or "01-16": as many digits as the first number has.
  bool ReadRange(std::vector<std::string>& endings) {
    const size_t begin = at_;
    const std::string_view first = Digits();
    if (first.empty() || first.size() > kMostDigits) {
      return Wrong(
          begin, "a number of up to " + std::to_string(kMostDigits) + " digits should stand here");
    }
    if (at_ == text_.size() || text_[at_] != '-') {
      endings.emplace_back(first);
      return true;
    }
    ++at_;
    const std::string_view last = Digits();
    const bool right = !last.empty() && last.size() <= kMostDigits && Number(last) >= Number(first);
    if (!right) return Wrong(begin, "a range that goes from a number to a greater one is meant");
    if (Number(last) - Number(first) >= kMostHosts) return TooMany();
    for (uint32_t number = Number(first); number <= Number(last); ++number) {
      char digits[16];
      std::snprintf(digits, sizeof digits, "%0*u", static_cast<int>(first.size()), number);
      endings.emplace_back(digits);
    }
    return endings.size() <= kMostHosts || TooMany();
  }

  std::string_view Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  static uint32_t Number(std::string_view digits) {
    uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  }

  std::string_view text_;
  HostCollector& collector_;
  size_t at_ = 0;
};

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
      const std::vector<Problem> problems =
          collector.Take("more than " + std::to_string(kMostHosts) + " nodes").problems;
      list.problems.insert(list.problems.end(), problems.begin(), problems.end());
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
        "--gpus-per-node=4', or put autodist init into the script given to sbatch");
  }
  std::vector<std::string> names;
  if (!NodeList(*text, collector).Read(names)) names.clear();
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

}  // namespace autodist::spec
