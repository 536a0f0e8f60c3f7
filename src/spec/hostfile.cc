#include "spec/hostfile.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/foreign_hosts.h"
#include "spec/host_list.h"
#include "spec/host_settings.h"
#include "spec/host_table.h"
#include "spec/hostfile_form.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/text_check.h"

namespace autodist::spec {
namespace {

// Reads hostfile lines with one host each: "gpu1", "ann@gpu1:2", "gpu1 slots=2 user=ann".
// Not thread-safe.
class HostfileLineReader {
 public:
  explicit HostfileLineReader(HostCollector& collector) : collector_(collector) {}

  // False: the line has no host, which has been reported; the file probably is not a hostfile.
  bool Read(const HostfileLine& line);
  // Reads a line with several hosts: "gpu1, gpu2".
  void ReadNames(const HostfileLine& line);
  // Adds one warning for all skipped settings, and one for all numbers that are taken for ports.
  void WarnOfReading();

 private:
  // An option of a line: "slots=2", or "slots = 2" for Open MPI.
  struct Option {
    HostSettings::Value value;
    std::string_view text;  // the whole option
  };

  // kWrong: the issue has been reported.
  enum class Outcome { kRead, kWrong, kNoHost };

  // Reads the options after the host.
  Outcome ReadOptions(const HostfileLine& line, std::vector<Option>& options);
  // Stores the option in `settings`; false after reporting an issue.
  bool Use(const Option& option, HostSettings& settings);
  void ReadWord(const HostfileLine& line, size_t at, const HostSettings& settings);
  void ReadExecHosts(const HostfileLine& line);
  void ReadSshCommand(const HostfileLine& line);
  // Reports a line with a password, or with a setting of OpenSSH's configuration; false: it has
  // neither.
  bool ReportNoHost(const HostfileLine& line);
  Outcome NoHost(const HostfileLine& line);
  Outcome NoOption(const HostfileLine& line, size_t word);
  void Unused(std::string_view text, size_t line) { unused_.push_back(PartOfLine(text, line)); }

  HostCollector& collector_;
  std::vector<std::string> unused_;
  std::vector<std::string> ports_;  // options that were used as ports
  std::string guessed_port_;        // the first word with a number that is taken for a port
};

// Options of Open MPI and hydra; similar to names of settings, but not misspelt ones.
const std::set<std::string_view> kOtherNames = {"binding", "map",    "ifhn",     "boards",
                                                "sockets", "socket", "slot_list"};

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
  return std::ranges::all_of(base::Split(word, '+'), [](std::string_view part) {
    const size_t slash = std::min(part.find('/'), part.size());
    const std::string_view numbers = part.substr(slash);
    return IsHost(part.substr(0, slash)) && !IsAddress(part) && numbers.size() > 1 &&
           numbers.find_first_not_of("0123456789*", 1) == std::string_view::npos;
  });
}

// Whether the number is a port, as no machine has as many devices.
bool IsAPort(std::string_view number) {
  return ReadWholeNumber(number, UINT16_MAX).value_or(0) > kMaxDevicesOfAMachine;
}

// The options of ssh(1).
constexpr std::string_view kSshFlags = "1246AaCfGgKkMNnqsTtVvXxYy";
constexpr std::string_view kSshOptionsWithValue = "BbcDEeFIiJLlmOoPpQRSWw";

constexpr std::pair<char, HostSetting> kSshSettings[] = {{'p', HostSetting::kPort},
                                                         {'l', HostSetting::kUser},
                                                         {'i', HostSetting::kKeyFile},
                                                         {'J', HostSetting::kProxyJump}};

HostfileLineReader::Outcome HostfileLineReader::NoHost(const HostfileLine& line) {
  const auto add = [](std::string* text, const HostfileWord& word) {
    *text += UpToColon(word.text);
  };
  collector_.ReportLine(line.number, Quoted(absl::StrJoin(line.words, " ", add)) +
                                         " is not a host with options, such as 'gpu1 slots=4 "
                                         "user=ann port=2222'; put comments behind a '#'");
  return Outcome::kNoHost;
}

// In a sentence, the first word is no address and has no number.
HostfileLineReader::Outcome HostfileLineReader::NoOption(const HostfileLine& line, size_t word) {
  const std::string_view host = line.words[0].text;
  if (!HasDigit(host) && host.find_first_of(".@") == std::string_view::npos) return NoHost(line);
  const std::string_view option = line.words[word].text;
  collector_.Report({line.number, line.words[word].column},
                    Quoted(UpToColon(option)) + " is not an option of the host " +
                        Quoted(UpToColon(host)) +
                        "; options are such as slots=4, user=ann and port=2222");
  return Outcome::kWrong;
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
    if (equals == 0) return NoHost(line);  // "Mom = gpu1"
    Option option{{words[i].text.substr(0, equals), "", place(i, 0), {}}, ""};
    if (option.value.name.find(',') != std::string_view::npos) return NoOption(line, i);
    size_t at = equals == std::string_view::npos ? words[i].text.size() : equals + 1;
    if (equals == std::string_view::npos && i + 1 < words.size() &&
        words[i + 1].text.starts_with('=')) {
      ++i;
      at = 1;
    } else if (equals == std::string_view::npos) {
      const HostSetting setting = SettingNamed(option.value.name);
      const bool number = setting == HostSetting::kGpus || setting == HostSetting::kSlots ||
                          setting == HostSetting::kSlotLimit || setting == HostSetting::kPort;
      if (!number) return NoOption(line, i);
      const std::string name(words[i].text);
      collector_.Report(option.value.place, "a number is missing after " + Quoted(name) +
                                                ", as in " + Quoted(name + "=4"));
      return Outcome::kWrong;
    }
    if (at == words[i].text.size() && i + 1 < words.size() &&
        words[i + 1].text.find('=') == std::string_view::npos) {
      ++i;
      at = 0;
    }
    option.value.text = words[i].text.substr(at);
    option.value.text_place = place(i, at);
    const char* const begin = words[first].text.data();
    option.text = {begin, static_cast<size_t>(words[i].text.data() + words[i].text.size() - begin)};
    options.push_back(option);
  }
  return Outcome::kRead;
}

bool HostfileLineReader::Use(const Option& option, HostSettings& settings) {
  const auto& [name, text, place, text_place] = option.value;
  const HostSetting setting = SettingNamed(name);
  const std::string near = setting != HostSetting::kUnknown || kOtherNames.contains(name)
                               ? ""
                               : base::Nearest(name, {"slots", "gpus"});
  if (!near.empty()) {
    collector_.Report(
        place, Quoted(name) + " is not an option of a hostfile; did you mean '" + near + "=N'?");
    return false;
  }
  const auto outcome = settings.Use(setting, option.value);
  if (outcome == HostSettings::Outcome::kUnused) Unused(option.text, place.line);
  if (outcome == HostSettings::Outcome::kUsed && setting == HostSetting::kPort) {
    ports_.push_back(PartOfLine(option.text, place.line));
  }
  return outcome != HostSettings::Outcome::kWrong;
}

void HostfileLineReader::ReadWord(const HostfileLine& line, size_t at,
                                  const HostSettings& settings) {
  const auto [text, column] = line.words[at];
  for (std::string_view word : SplitHostList(text)) {
    const HostCollector::Place place{line.number,
                                     column + static_cast<size_t>(word.data() - text.data())};
    const std::string_view adapter = BehindSecondColon(word);
    if (!adapter.empty()) Unused(UpToColon(adapter), line.number);
    word.remove_suffix(adapter.size());
    word = Unquoted(word);
    if (word.empty()) continue;  // a trailing comma, as in a line copied from a longer list
    HostSettings own = settings;
    const auto number = SplitHostWord(word).number;
    const bool is_url = word.starts_with("ssh://");
    const bool port = !is_url && number && IsAPort(*number);
    if (port && guessed_port_.empty()) guessed_port_ = PartOfLine(word, line.number);
    if (port || is_url) {
      own.AddLogin(word, place);
    } else {
      collector_.AddWord(word, own.entry(), place);
    }
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

void HostfileLineReader::ReadSshCommand(const HostfileLine& line) {
  const auto& words = line.words;
  const auto place = [&](const HostfileWord& word) {
    return HostCollector::Place{line.number, word.column};
  };
  HostSettings settings(collector_);
  const HostfileWord* host = nullptr;
  for (size_t i = IsSsh(words[0].text) ? 1 : 0; i < words.size(); ++i) {
    const HostfileWord& word = words[i];
    if (!word.text.starts_with('-')) {
      if (host) {
        return collector_.Report(place(word), Quoted(UpToColon(word.text)) +
                                                  " is a command for the host " +
                                                  Quoted(host->text) + "; write the host alone");
      }
      host = &word;
      continue;
    }
    const size_t letter = word.text.find_first_not_of(kSshFlags, 1);
    if (letter == std::string_view::npos) continue;  // flags alone
    const char option = word.text[letter];
    const bool apart = letter + 1 == word.text.size();
    if (kSshOptionsWithValue.find(option) == std::string_view::npos ||
        (apart && i + 1 == words.size())) {
      return collector_.Report(place(word),
                               Quoted(word.text) + " is not an option of ssh with its value");
    }
    const HostfileWord& from = apart ? words[++i] : word;
    std::string_view name = word.text;
    std::string_view text = Unquoted(from.text.substr(apart ? 0 : letter + 1));
    const auto known =
        std::ranges::find(kSshSettings, option, &std::pair<char, HostSetting>::first);
    HostSetting setting = known == std::end(kSshSettings) ? HostSetting::kUnknown : known->second;
    const size_t equals = option == 'o' ? text.find('=') : std::string_view::npos;
    if (equals != std::string_view::npos) {  // "-o Port=2222"
      name = text.substr(0, equals);
      text.remove_prefix(equals + 1);
      setting = SettingNamed(name);
    }
    const auto outcome = settings.Use(setting, {name, text, place(word), place(from)});
    if (outcome == HostSettings::Outcome::kWrong) return;
    if (outcome == HostSettings::Outcome::kUsed) continue;
    const char* const begin = word.text.data();
    const auto size = static_cast<size_t>(from.text.data() + from.text.size() - begin);
    Unused({begin, size}, line.number);
  }
  if (!host) {
    return collector_.ReportLine(line.number, Quoted(line.text) + " is a command without a host");
  }
  settings.AddLogin(Unquoted(host->text), place(*host));
}

bool HostfileLineReader::ReportNoHost(const HostfileLine& line) {
  const auto& words = line.words;
  if (words[0].text == "sshpass") {
    collector_.Report({line.number, words[0].column}, std::string("'sshpass': ") + kNoPassword);
    return true;
  }
  if (words.size() != 2 || !IsSshKeyword(words[0].text)) return false;
  const std::string keyword(words[0].text);
  const HostSetting setting = SettingNamed(keyword);
  if (setting == HostSetting::kUnknown || setting == HostSetting::kHost) return false;
  const std::string value = UpToColon(words[1].text);
  collector_.ReportLine(line.number, Quoted(keyword + " " + value) +
                                         " names no host; write it after its host: " +
                                         Quoted("gpu1 " + keyword + "=" + value));
  return true;
}

bool HostfileLineReader::Read(const HostfileLine& line) {
  const auto& words = line.words;
  if (ReportNoHost(line)) return true;
  if (IsSshCommand(line)) {
    ReadSshCommand(line);
    return true;
  }
  if (words.size() == 1 && IsExecHosts(words[0].text)) {
    ReadExecHosts(line);
    return true;
  }
  HostSettings settings(collector_);
  if (words.size() == 2 && IsDigits(words[1].text)) {  // "gpu1 2"
    const HostCollector::Place place{line.number, words[1].column};
    const HostSetting setting = IsAPort(words[1].text) ? HostSetting::kPort : HostSetting::kSlots;
    const auto outcome = settings.Use(setting, {words[1].text, words[1].text, place, place});
    settings.entry().counted = setting == HostSetting::kSlots;
    if (setting == HostSetting::kPort) guessed_port_ = PartOfLine(line.text, line.number);
    if (outcome == HostSettings::Outcome::kUsed) ReadWord(line, 0, settings);
    return true;
  }
  std::vector<Option> options;
  const Outcome outcome = words[0].text.ends_with(':') ? NoHost(line) : ReadOptions(line, options);
  if (outcome != Outcome::kRead) return outcome == Outcome::kWrong;
  for (const Option& option : options) {
    if (!Use(option, settings)) return true;
  }
  ReadWord(line, 0, settings);
  return true;
}

void HostfileLineReader::ReadNames(const HostfileLine& line) {
  for (size_t i = 0; i < line.words.size(); ++i) ReadWord(line, i, HostSettings(collector_));
}

void HostfileLineReader::WarnOfReading() {
  constexpr size_t kShown = 6;
  if (!guessed_port_.empty()) {
    collector_.Warn(collector_.source() + ": numbers above " +
                    std::to_string(kMaxDevicesOfAMachine) + ", as in " + guessed_port_ +
                    ", are taken for ports of SSH servers");
  }
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

// Strips an assignment as `env` prints it: "LSB_HOSTS='gpu1 gpu2'"; and an option: "-H gpu1:8".
std::string_view WithoutAssignment(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with("export ")) rest.remove_prefix(7);
  for (const std::string_view name :
       {"LSB_MCPU_HOSTS=", "LSB_HOSTS=", "SLURM_JOB_NODELIST=", "SLURM_NODELIST=",
        "LOADL_PROCESSOR_LIST=", "COBALT_PARTNAME=", "-H ", "--host ", "--hosts "}) {
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(name.size());
    const bool quoted = rest.starts_with('"') || rest.starts_with('\'');
    if (quoted) rest = rest.substr(1, rest.find(rest[0], 1) - 1);
    return rest;
  }
  return text;
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
        reader.ReadNames(line);
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
  reader.WarnOfReading();
}

}  // namespace

HostList ParseHostfile(std::string_view text, const std::string& file) {
  const std::string plain = InAscii(text);
  const std::vector<HostfileLine> lines = HostfileLines(WithoutAssignment(plain));
  const HostfileForm form = FormOf(lines);
  if (form == HostfileForm::kInventory) return ParseInventory(lines, file);
  HostCollector collector(file);
  if (const RefusedForm* refused = WhyRefused(form)) {
    collector.ReportLine(lines[0].number, Quoted(lines[0].text) + " is a line of " + refused->kind +
                                              "; " + refused->advice);
  } else if (form == HostfileForm::kTable) {
    ReadTable(*TableOf(lines), collector);
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
