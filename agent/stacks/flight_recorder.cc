#include "agent/stacks/flight_recorder.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/parse_number.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "pickle/pickled.h"

namespace autodist::agent {
namespace {

using pickle::PickledValue;

constexpr size_t kLargestRecord = 64 << 20;  // bytes
constexpr std::string_view kPipe = ".pipe";
// Per group: ranks may continue for a while after they differ.
constexpr size_t kLastOperations = 16;
constexpr size_t kMaxGroups = 256;      // of one rank
constexpr size_t kMaxRecordText = 200;  // bytes, of each text of an entry

// Parses 3 from "flight-recorder.3" with the end ""; nullopt for other names.
std::optional<uint32_t> RankIn(std::string_view name, std::string_view end) {
  const std::string_view begin = kFlightRecord;
  if (!name.starts_with(begin) || !name.ends_with(end)) return std::nullopt;
  name.remove_prefix(begin.size());
  name.remove_suffix(std::min(end.size(), name.size()));
  return base::ParseNumber<uint32_t>(name);
}

std::set<uint32_t> RanksIn(const std::string& folder, std::string_view end) {
  std::set<uint32_t> ranks;
  for (const std::string& name : base::EntriesOf(folder)) {
    if (const auto rank = RankIn(name, end)) ranks.insert(*rank);
  }
  return ranks;
}

std::string RecordPath(const std::string& folder, uint32_t rank) {
  return folder + "/" + kFlightRecord + std::to_string(rank);
}

// Returns whether a process reads from the pipe.
bool AskAt(const std::string& pipe) {
  const base::UniqueFd fd(open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  return fd.valid() && fstat(fd.get(), &info) == 0 && S_ISFIFO(info.st_mode) &&
         write(fd.get(), "1", 1) == 1;
}

// Removes ranks whose files have been written and closed.
void TakeWritten(int inotify, std::set<uint32_t>& awaited) {
  alignas(inotify_event) std::array<char, 16384> buffer;
  const ssize_t got = read(inotify, buffer.data(), buffer.size());
  for (ssize_t at = 0; at < got;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
    if (event->len > 0) {
      if (const auto rank = RankIn(event->name, "")) awaited.erase(*rank);
    }
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
}

std::string ShortText(const PickledValue& value) {
  return base::Truncated(value.text, kMaxRecordText);
}

// Formats lists of numbers as "[4, 2] [3]".
std::string SizesText(const PickledValue& sizes) {
  std::string text;
  for (const PickledValue* one : sizes.items) {
    text += text.empty() ? "[" : " [";
    for (size_t i = 0; i < one->items.size() && text.size() < kMaxRecordText; ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(one->items[i]->integer);
    }
    text += "]";
    if (text.size() >= kMaxRecordText) break;
  }
  return text;
}

// Formats "all_reduce of [4, 2]". The tensors of other operations may differ between ranks.
std::string OperationText(const PickledValue& entry) {
  std::string name = ShortText(entry["profiling_name"]);
  name.erase(0, name.find(':') + 1);  // "nccl:"
  const bool alike = name == "all_reduce" || name == "broadcast";
  const std::string sizes = alike ? SizesText(entry["input_sizes"]) : "";
  return name + (sizes.empty() ? "" : " of " + sizes);
}

// Counts the ranks in "[0, 1]".
uint64_t RanksOf(std::string_view list) {
  if (list.size() <= 2) return 0;
  return static_cast<uint64_t>(std::ranges::count(list, ',')) + 1;
}

std::string GroupName(const PickledValue& group) {
  std::string description = ShortText(group.At(1));
  if (description == "default_pg") return description;
  const bool is_described = !description.empty() && description != "undefined";
  return ShortText(group.At(0)) + (is_described ? " (" + description + ")" : "");
}

uint64_t NotNegative(int64_t number) { return static_cast<uint64_t>(std::max<int64_t>(number, 0)); }

// Returns what the record's summaries say about the group of the entry.
GroupCount CountOfGroup(std::string name, const PickledValue& entry, const PickledValue& root) {
  const PickledValue& config = root["pg_config"][entry["process_group"].At(0).text];
  const PickledValue& status = root["pg_status"][std::to_string(entry["pg_id"].integer)];
  GroupCount count;
  count.source = "its flight recorder";
  count.group = std::move(name);
  count.size = RanksOf(config["ranks"].text);
  count.ended = NotNegative(status["last_completed_collective"].integer);
  return count;
}

std::string RecordText(std::string_view bytes) {
  const auto counts = CountsOfRecord(bytes, base::MillisecondsSince1970());
  if (!counts.ok()) {
    return base::Printable("its flight record is not read: " + Message(counts.status())) + "\n";
  }
  std::string text;
  for (const GroupCount& count : *counts) text += CountLine(count);
  return text;
}

// Returns a group's last operations by number, the last first, without gaps.
std::vector<std::string> LastOf(const std::map<uint64_t, const PickledValue*>& entries) {
  std::vector<std::string> last;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const bool is_next = entry->first + last.size() == entries.rbegin()->first;
    if (!is_next || last.size() == kLastOperations) break;
    last.push_back(OperationText(*entry->second));
  }
  return last;
}

}  // namespace

Result<std::vector<GroupCount>> CountsOfRecord(std::string_view bytes, int64_t now_ms) {
  AD_ASSIGN_OR_RETURN(const pickle::Pickled record, pickle::Pickled::Read(bytes));
  std::map<std::string, GroupCount> counts;
  std::map<std::string, std::map<uint64_t, const PickledValue*>> entries;  // by group and number
  // An entry may be in a list often; to read it again would change nothing.
  std::unordered_set<const PickledValue*> seen;
  const PickledValue& root = record.root();
  for (const PickledValue* entry : root["entries"].items) {
    if (!seen.insert(entry).second) continue;
    const int64_t number = (*entry)["collective_seq_id"].integer;
    if ((*entry)["is_p2p"].integer != 0 || number <= 0) continue;
    const std::string name = GroupName((*entry)["process_group"]);
    auto found = counts.find(name);
    if (found == counts.end()) {
      if (counts.size() == kMaxGroups)
        return Error(StatusCode::kDataLoss, "it has too many groups");
      found = counts.emplace(name, CountOfGroup(name, *entry, root)).first;
    }
    GroupCount& count = found->second;
    const auto entered = static_cast<uint64_t>(number);
    entries[name].try_emplace(entered, entry);
    count.entered = std::max(count.entered, entered);
    const int64_t ago_ms = now_ms - (*entry)["time_created_ns"].integer / 1'000'000;
    count.last_ago_ms = std::max<int64_t>(std::min(count.last_ago_ms.value_or(ago_ms), ago_ms), 0);
    if ((*entry)["state"].text == "completed") count.ended = std::max(*count.ended, entered);
  }
  std::vector<GroupCount> all;
  all.reserve(counts.size());
  for (auto& [name, count] : counts) {
    count.what = LastOf(entries[name]);
    all.push_back(std::move(count));
  }
  return all;
}

std::set<uint32_t> RecordingRanks(const std::string& folder) {
  std::set<uint32_t> ranks = RanksIn(folder, kPipe);
  ranks.merge(RanksIn(folder, ""));
  return ranks;
}

void AskForFlightRecords(const std::string& folder, base::Deadline deadline) {
  const std::set<uint32_t> pipes = RanksIn(folder, kPipe);
  if (pipes.empty()) return;
  const base::UniqueFd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.valid() ||
      inotify_add_watch(inotify.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
    return;  // earlier records are still read
  }
  std::set<uint32_t> awaited;
  for (const uint32_t rank : pipes) {
    if (AskAt(RecordPath(folder, rank) + std::string(kPipe))) awaited.insert(rank);
  }
  while (!awaited.empty() && base::WaitReadable(inotify.get(), deadline).ok()) {
    TakeWritten(inotify.get(), awaited);
  }
}

std::optional<FlightRecord> ReadFlightRecord(const std::string& folder, uint32_t rank) {
  const std::string path = RecordPath(folder, rank);
  // The program may have put something else there, such as a pipe.
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  auto bytes = base::ReadWhole(fd.get(), path, kLargestRecord);
  if (!bytes.ok()) return std::nullopt;
  std::string text = RecordText(*bytes);
  return FlightRecord{.bytes = *std::move(bytes), .text = std::move(text)};
}

std::map<uint32_t, FlightRecord> TakeFlightRecords(
    const std::string& folder, const std::function<bool(uint32_t rank)>& is_wanted) {
  std::map<uint32_t, FlightRecord> records;
  for (const uint32_t rank : RanksIn(folder, "")) {
    if (!is_wanted(rank)) continue;
    auto record = ReadFlightRecord(folder, rank);
    if (!record) continue;
    unlink(RecordPath(folder, rank).c_str());
    records.emplace(rank, *std::move(record));
  }
  return records;
}

}  // namespace autodist::agent
