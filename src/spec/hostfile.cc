#include "spec/hostfile.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/foreign_hosts.h"
#include "spec/host_list.h"
#include "spec/hostfile_form.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

// Reads hostfile lines with one host each: "gpu1", "ann@gpu1:2", "gpu1 slots=2 user=ann".
// Not thread-safe.
class HostfileLineReader {
 public:
  explicit HostfileLineReader(HostCollector& collector) : collector_(collector) {}

  // False: the line has no host, which has been reported; the file probably is not a hostfile.
  bool Read(const HostfileLine& line);
  // Adds one warning for all skipped settings.
  void WarnOfUnused();

 private:
  // An option of a line: "slots=2", or "slots = 2" for Open MPI.
  struct Option {
    std::string_view name;
    std::string_view value;
    HostCollector::Place place;        // of the name
    HostCollector::Place value_place;  // of the value
    std::string_view text;             // the whole option
  };

  // kWrong: the issue has been reported.
  enum class Outcome { kRead, kWrong, kNoHost };

  // Reads the options after the host.
  Outcome ReadOptions(const HostfileLine& line, std::vector<Option>& options);
  // Stores the option in `entry`; false after reporting an issue.
  bool Use(const Option& option, HostEntry& entry, bool& has_gpus);
  bool UseDevices(const Option& option, HostEntry& entry, bool& has_gpus);
  bool UsePort(const Option& option, HostEntry& entry);
  bool UseUser(const Option& option, HostEntry& entry);
  void ReadWord(const HostfileLine& line, const HostEntry& entry);
  void ReadExecHosts(const HostfileLine& line);
  Outcome NoHost(const HostfileLine& line);
  void Unused(std::string_view text, size_t line);

  HostCollector& collector_;
  std::vector<std::string> unused_;
  std::vector<std::string> ports_;  // options that were used as ports
};

using OptionNames = std::set<std::string_view>;

// GPUs take precedence over slots: the nodes file of Torque has both, "np=64 gpus=4".
const OptionNames kGpuNames = {"gpus", "gpu", "ngpus", "num_gpus", "gpus_per_node"};
const OptionNames kSlotNames = {"slots", "count", "cpu",    "cpus", "np",
                                "ncpus", "procs", "nprocs", "ppn",  "num_slots"};
const OptionNames kLimitNames = {"max_slots", "max-slots", "slots_max", "slots-max", "max",
                                 "max_cpus",  "max-cpus",  "cpus_max",  "cpus-max",  "maxcpus"};
const OptionNames kUserNames = {"user", "username", "user_name", "user-name", "login"};
const OptionNames kPortNames = {"port", "ssh_port"};
// Options of Open MPI and hydra; similar to names above, but not misspelt ones.
const OptionNames kOtherNames = {"binding", "map",     "ifhn",   "rank",
                                 "boards",  "sockets", "socket", "slot_list"};

// Returns ":mlx5_1" of "gpu3:4:mlx5_1", the network adapter in a hostfile of MVAPICH2.
std::string_view BehindSecondColon(std::string_view word) {
  if (word.starts_with('[') || base::IpAddress::Parse(std::string(word))) return "";
  const size_t first = word.find(':');
  if (first == std::string_view::npos) return "";
  const size_t second = word.find(':', first + 1);
  if (second == std::string_view::npos || word.find(':', second + 1) != std::string_view::npos ||
      !IsDigits(word.substr(first + 1, second - first - 1))) {
    return "";
  }
  return word.substr(second);
}

// Matches "gpu1/0*4+gpu2/0*4", the exec_host of a PBS job.
bool IsExecHosts(std::string_view word) {
  return word.find('/') != std::string_view::npos &&
         std::isalnum(static_cast<unsigned char>(word[0])) &&
         word.find_first_of(":=,") == std::string_view::npos;
}

HostfileLineReader::Outcome HostfileLineReader::NoHost(const HostfileLine& line) {
  collector_.ReportLine(line.number,
                        Quoted(line.text) + " is not a host; put comments behind a '#'");
  return Outcome::kNoHost;
}

void HostfileLineReader::Unused(std::string_view text, size_t line) {
  unused_.push_back(Quoted(text) + " (line " + std::to_string(line) + ")");
}

HostfileLineReader::Outcome HostfileLineReader::ReadOptions(const HostfileLine& line,
                                                            std::vector<Option>& options) {
  const auto& words = line.words;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto place = [&](size_t word, size_t in) -> HostCollector::Place {
      return {line.number, words[word].column + in};
    };
    const size_t first = i;
    const size_t equals = words[i].text.find('=');
    Option option{words[i].text.substr(0, equals), "", place(i, 0), {}, ""};
    size_t at = equals == std::string_view::npos ? words[i].text.size() : equals + 1;
    if (equals == std::string_view::npos && i + 1 < words.size() &&
        words[i + 1].text.starts_with('=')) {
      ++i;
      at = 1;
    } else if (equals == std::string_view::npos) {
      const bool known = kSlotNames.contains(option.name) || kGpuNames.contains(option.name) ||
                         kLimitNames.contains(option.name);
      if (!known) return NoHost(line);
      collector_.Report(option.place, "a number is missing after '" + std::string(option.name) +
                                          "', as in '" + std::string(option.name) + "=4'");
      return Outcome::kWrong;
    }
    if (at == words[i].text.size() && i + 1 < words.size() &&
        words[i + 1].text.find('=') == std::string_view::npos) {
      ++i;
      at = 0;
    }
    option.value = words[i].text.substr(at);
    option.value_place = place(i, at);
    const char* const begin = words[first].text.data();
    option.text = {begin, static_cast<size_t>(words[i].text.data() + words[i].text.size() - begin)};
    options.push_back(option);
  }
  return Outcome::kRead;
}

bool HostfileLineReader::UseDevices(const Option& option, HostEntry& entry, bool& has_gpus) {
  const bool of_gpus = kGpuNames.contains(option.name);
  if (has_gpus && !of_gpus) {
    Unused(option.text, option.place.line);
    return true;
  }
  if (entry.slots && of_gpus == has_gpus) {
    collector_.Report(option.place, Quoted(option.name) + " appears twice on this line; keep one");
    return false;
  }
  const uint32_t slots = collector_.ReadSlots(option.value, option.value_place);
  entry.slots = slots;
  has_gpus = of_gpus;
  return slots > 0;
}

bool HostfileLineReader::UsePort(const Option& option, HostEntry& entry) {
  entry.port = collector_.ReadPort(option.value, option.value_place);
  if (!entry.port) return false;
  ports_.push_back(Quoted(option.text) + " (line " + std::to_string(option.place.line) + ")");
  return true;
}

bool HostfileLineReader::UseUser(const Option& option, HostEntry& entry) {
  entry.user = option.value;
  if (CheckUser(entry.user).ok()) return true;
  collector_.Report(option.value_place, Quoted(option.value) + " is not a user name");
  return false;
}

bool HostfileLineReader::Use(const Option& option, HostEntry& entry, bool& has_gpus) {
  if (kSlotNames.contains(option.name) || kGpuNames.contains(option.name)) {
    return UseDevices(option, entry, has_gpus);
  }
  if (kUserNames.contains(option.name)) return UseUser(option, entry);
  if (kPortNames.contains(option.name)) return UsePort(option, entry);
  if (kLimitNames.contains(option.name)) return true;
  const std::string near =
      kOtherNames.contains(option.name) ? "" : base::Nearest(option.name, {"slots", "gpus"});
  if (!near.empty()) {
    collector_.Report(
        option.place,
        Quoted(option.name) + " is not an option of a hostfile; did you mean '" + near + "=N'?");
    return false;
  }
  Unused(option.text, option.place.line);
  return true;
}

void HostfileLineReader::ReadWord(const HostfileLine& line, const HostEntry& entry) {
  const auto [text, column] = line.words[0];
  for (std::string_view word : SplitHostList(text)) {
    const HostCollector::Place place{line.number,
                                     column + static_cast<size_t>(word.data() - text.data())};
    const std::string_view adapter = BehindSecondColon(word);
    if (!adapter.empty()) Unused(adapter, line.number);
    word.remove_suffix(adapter.size());
    // A trailing comma, as in a line that was copied from a longer list.
    if (!word.empty()) collector_.AddWord(word, entry, place);
  }
}

void HostfileLineReader::ReadExecHosts(const HostfileLine& line) {
  const auto [text, column] = line.words[0];
  for (const std::string_view part : base::Split(text, '+')) {
    const HostCollector::Place place{line.number,
                                     column + static_cast<size_t>(part.data() - text.data())};
    const size_t star = part.find('*');
    HostEntry entry;
    entry.counted = true;
    entry.slots =
        star == std::string_view::npos ? 1 : collector_.ReadSlots(part.substr(star + 1), place);
    if (*entry.slots > 0) collector_.AddWord(part.substr(0, part.find('/')), entry, place);
  }
}

bool HostfileLineReader::Read(const HostfileLine& line) {
  const auto& words = line.words;
  if (words.size() == 1 && IsExecHosts(words[0].text)) {
    ReadExecHosts(line);
    return true;
  }
  HostEntry entry;
  if (words.size() == 2 && IsDigits(words[1].text)) {
    entry.slots = collector_.ReadSlots(words[1].text, {line.number, words[1].column});
    entry.counted = true;
    if (*entry.slots > 0) ReadWord(line, entry);
    return true;
  }
  std::vector<Option> options;
  bool has_gpus = false;
  const Outcome outcome = words[0].text.ends_with(':') ? NoHost(line) : ReadOptions(line, options);
  if (outcome != Outcome::kRead) return outcome == Outcome::kWrong;
  for (const Option& option : options) {
    if (!Use(option, entry, has_gpus)) return true;
  }
  ReadWord(line, entry);
  return true;
}

void HostfileLineReader::WarnOfUnused() {
  constexpr size_t kShown = 6;
  if (unused_.empty()) return;
  const size_t shown = std::min(kShown, unused_.size());
  std::string what =
      "not used of this list: " + absl::StrJoin(std::span(unused_).first(shown), ", ");
  if (unused_.size() > shown) what += " and " + std::to_string(unused_.size() - shown) + " more";
  if (!ports_.empty()) what += "; " + ports_[0] + " is taken for the port of the SSH server";
  collector_.Warn(collector_.source() + ": " + what);
}

HostCollector::Place PlaceOf(const HostfileLine& line, size_t word) {
  return {line.number, line.words[word].column};
}

HostEntry Counted(uint32_t slots) {
  HostEntry entry;
  entry.slots = slots;
  entry.counted = true;
  return entry;
}

// Reads "gpu1 2 gpu2 2"; for Grid Engine only the first two fields.
void ReadCountedHosts(const HostfileLine& line, size_t words, HostCollector& collector) {
  for (size_t i = 0; i + 1 < words; i += 2) {
    const std::string_view number = line.words[i + 1].text;
    const uint32_t slots = collector.ReadSlots(number, PlaceOf(line, i + 1));
    if (slots > 0) collector.AddWord(line.words[i].text, Counted(slots), PlaceOf(line, i));
  }
}

// Reads "gpu1:22 ann".
void ReadHostAndUser(const HostfileLine& line, HostCollector& collector) {
  HostEntry entry;
  entry.user = line.words[1].text;
  std::string_view host = line.words[0].text;
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && !base::IpAddress::Parse(std::string(host))) {
    entry.port = collector.ReadPort(host.substr(colon + 1), PlaceOf(line, 0));
    if (!entry.port) return;
    host = host.substr(0, colon);
  }
  collector.AddWord(host, std::move(entry), PlaceOf(line, 0));
}

// Reads "rank 0=gpu1 slot=0-3".
void ReadRank(const HostfileLine& line, HostCollector& collector) {
  const std::string_view word = line.words[1].text;
  const size_t equals = word.find('=');
  const HostCollector::Place place{line.number, line.words[1].column + equals + 1};
  if (word.substr(equals + 1).starts_with('+')) {
    return collector.Report(
        place, Quoted(word.substr(equals + 1)) + " is a host of another list; write its name");
  }
  collector.AddWord(word.substr(equals + 1), Counted(1), place);
}

// Returns the number of GPUs in "gpu:a100:4(S:0-1)", the sum of all types; 0 without GPUs.
uint32_t GpusOfGres(std::string_view gres) {
  uint32_t all = 0;
  for (std::string_view part : base::Split(gres, ',')) {
    part = part.substr(0, part.find('('));
    if (!part.starts_with("gpu:")) continue;
    all += ReadWholeNumber(part.substr(part.rfind(':') + 1), kMaxSlots).value_or(0);
  }
  return std::min(all, kMaxSlots);
}

// Reads "NodeName=gpu[1-4] CPUs=64 Gres=gpu:8"; ignores other lines of slurm.conf.
void ReadNodeNames(const HostfileLine& line, HostCollector& collector) {
  constexpr std::string_view kName = "NodeName=";
  constexpr std::string_view kGres = "Gres=";
  const std::string_view names = line.words[0].text;
  if (!names.starts_with(kName) || names == "NodeName=DEFAULT") return;
  HostEntry entry;
  for (const HostfileWord& word : line.words) {
    if (!word.text.starts_with(kGres)) continue;
    if (const uint32_t gpus = GpusOfGres(word.text.substr(kGres.size()))) entry.slots = gpus;
  }
  for (const std::string_view name : SplitHostList(names.substr(kName.size()))) {
    collector.AddWord(name, entry, {line.number, line.words[0].column + kName.size()});
  }
}

// Strips an assignment as `env` prints it: "LSB_HOSTS='gpu1 gpu2'".
std::string_view WithoutAssignment(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("export ")) rest.remove_prefix(7);
  for (const std::string_view name :
       {"LSB_MCPU_HOSTS=", "LSB_HOSTS=", "SLURM_JOB_NODELIST=", "SLURM_NODELIST=",
        "LOADL_PROCESSOR_LIST=", "COBALT_PARTNAME="}) {
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
    if (quoted) rest = rest.substr(1, rest.find(rest[0], 1) - 1);
    return rest;
  }
  return text;
}

// Replaces other kinds of blanks, as web pages contain them.
std::string PlainBlanks(std::string_view text) {
  std::string plain(text);
  for (const std::string_view blank : {"\u00a0", "\u200b", "\u202f", "\ufeff"}) {
    for (size_t at = plain.find(blank); at != std::string::npos; at = plain.find(blank, at)) {
      plain.replace(at, blank.size(), " ");
    }
  }
  return plain;
}

void ReadLines(const std::vector<HostfileLine>& lines, HostfileForm form,
               HostCollector& collector) {
  HostfileLineReader reader(collector);
  for (const HostfileLine& line : lines) {
    switch (form) {
      case HostfileForm::kGridEngine:
        ReadCountedHosts(line, 2, collector);
        break;
      case HostfileForm::kCounts:
        ReadCountedHosts(line, line.words.size(), collector);
        break;
      case HostfileForm::kNames:
        for (size_t i = 0; i < line.words.size(); ++i) {
          collector.AddWord(line.words[i].text, {}, PlaceOf(line, i));
        }
        break;
      case HostfileForm::kUsers:
        ReadHostAndUser(line, collector);
        break;
      case HostfileForm::kRanks:
        ReadRank(line, collector);
        break;
      case HostfileForm::kNodeNames:
        ReadNodeNames(line, collector);
        break;
      default:
        if (!reader.Read(line)) return;
    }
  }
  reader.WarnOfUnused();
}

}  // namespace

HostList ParseHostfile(std::string_view text, const std::string& file) {
  const std::string plain = PlainBlanks(text);
  const std::vector<HostfileLine> lines = HostfileLines(WithoutAssignment(plain));
  const HostfileForm form = FormOf(lines);
  if (form == HostfileForm::kInventory) return ParseInventory(lines, file);
  HostCollector collector(file);
  if (form == HostfileForm::kHostsTable) {
    collector.ReportLine(lines[0].number,
                         Quoted(lines[0].text) +
                             " is a line of /etc/hosts; give one name or address of each machine, "
                             "a line each, such as '" +
                             std::string(lines[0].words[0].text) + "'");
  } else {
    ReadLines(lines, form, collector);
  }
  if (form == HostfileForm::kGridEngine) {
    collector.Warn(file +
                   ": a machine list of Grid Engine: slots are taken for devices; queues and "
                   "processors are not used");
  }
  if (form == HostfileForm::kRanks) {
    collector.Warn(file + ": a rankfile: each host has as many ranks as there; 'slot' is not used");
  }
  return collector.Take("no host in it; it should have lines such as 'gpu1 slots=4'");
}

}  // namespace autodist::spec
