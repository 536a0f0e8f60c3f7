#include "spec/hostfile.h"

#include <algorithm>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/ansible_inventory.h"
#include "spec/host_range.h"
#include "spec/hostfile_form.h"
#include "spec/hostfile_line.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

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
