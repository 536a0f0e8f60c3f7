#include "spec/host_list.h"

#include <algorithm>
#include <cctype>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr size_t kMostProblems = 100;  // of a file that is something else altogether
constexpr char kBlanks[] = " \t";

// Blanks alone become "" at their begin.
std::string_view Trimmed(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

// One line of a hostfile, read from left to right.
class HostfileLine {
 public:
  HostfileLine(std::string_view text, size_t number, HostCollector& collector)
      : text_(text), number_(number), collector_(collector) {}

  void Read() {
    SkipBlanks();
    if (at_ == text_.size()) return;
    const HostCollector::Place host_place = Place();
    const std::string_view host = Word(kBlanks);
    bool right = true;
    std::optional<uint32_t> slots;
    for (SkipBlanks(); right && at_ < text_.size(); SkipBlanks()) right = ReadOption(slots);
    if (right) collector_.AddWord(host, slots, host_place);
  }

 private:
  HostCollector::Place Place() const { return {number_, at_ + 1}; }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  std::string_view Word(const char* ends) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  // "name=value"; blanks around the '=' are Open MPI's.
  bool ReadOption(std::optional<uint32_t>& slots) {
    const HostCollector::Place place = Place();
    const std::string_view name = Word(" \t=");
    if (name != "slots" && name != "max_slots" && name != "max-slots") {
      const std::string near = base::Nearest(name, {"slots"});
      collector_.Report(place, Quoted(name) + " is nothing that a line of a hostfile has; " +
                                   (near.empty() ? "the number of devices is 'slots=N'"
                                                 : "did you mean 'slots=N'?"));
      return false;
    }
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != '=') {
      collector_.Report(place, "a number is missing after '" + std::string(name) + "', as in '" +
                                   std::string(name) + "=4'");
      return false;
    }
    ++at_;
    SkipBlanks();
    const HostCollector::Place value_place = Place();
    const std::string_view value = Word(kBlanks);
    if (name != "slots") return true;
    if (slots) {
      collector_.Report(place, "'slots' appears twice on this line; keep one");
      return false;
    }
    slots = collector_.ReadSlots(value, value_place);
    return *slots > 0;
  }

  std::string_view text_;
  size_t number_;
  HostCollector& collector_;
  size_t at_ = 0;
};

}  // namespace

void HostCollector::Report(Place place, const std::string& what) {
  if (full_) return;
  list_.problems.push_back(
      {source_, static_cast<int>(place.line), static_cast<int>(place.column), what});
  if (list_.problems.size() < kMostProblems) return;
  full_ = true;
  list_.problems.push_back({source_, 0, 0, "too much is wrong; is this a list of hosts?"});
}

void HostCollector::Add(HostEntry entry, Place place) {
  if (full_) return;
  const auto [known, is_new] = index_.emplace(Identity(entry.host), list_.hosts.size());
  if (is_new && list_.hosts.size() == kMostHosts) {
    Report(place, TooManyHosts());
    full_ = true;
  } else if (is_new) {
    list_.hosts.push_back(std::move(entry));
  } else {
    HostEntry& first = list_.hosts[known->second];
    if (!entry.user.empty() && !first.user.empty() && entry.user != first.user) {
      Report(place, "host " + Quoted(entry.host) + " appears with the user " + Quoted(entry.user) +
                        " and with " + Quoted(first.user) + "; give one of them");
    }
    if (first.user.empty()) first.user = std::move(entry.user);
    first.slots = first.slots.value_or(1) + entry.slots.value_or(1);
    if (*first.slots > kMostSlots) {
      Report(place, "host " + Quoted(entry.host) + " has more than " + std::to_string(kMostSlots) +
                        " slots altogether");
      first.slots = kMostSlots;
    }
  }
}

uint32_t HostCollector::ReadSlots(std::string_view text, Place place) {
  const uint32_t slots = ReadWholeNumber(text, kMostSlots).value_or(0);
  if (slots > 0) return slots;
  Report(place, Quoted(text) + " is not a number of devices; it should be from 1 to " +
                    std::to_string(kMostSlots));
  return 0;
}

void HostCollector::AddWord(std::string_view word, std::optional<uint32_t> slots, Place place) {
  HostEntry entry{"", "", slots};
  std::string_view rest = word;
  if (const size_t at = word.rfind('@'); at != std::string_view::npos) {
    entry.user = word.substr(0, at);
    rest = word.substr(at + 1);
    if (!CheckUser(entry.user).ok()) {
      return Report(place, Quoted(entry.user) + " before the '@' is not a user name");
    }
  }
  std::string_view number;
  bool has_number = false;
  const size_t close = rest.starts_with('[') ? rest.find(']') : std::string_view::npos;
  if (close != std::string_view::npos) {
    entry.host = rest.substr(1, close - 1);
    has_number = rest.substr(close + 1).starts_with(':');
    number = has_number ? rest.substr(close + 2) : "";
    const auto ip = base::IpAddress::Parse(entry.host);
    if (!ip || !ip->v6 || (!has_number && close + 1 != rest.size())) entry.host = rest;
  } else if (base::IpAddress::Parse(std::string(rest))) {
    entry.host = rest;  // IPv6 has colons of its own
  } else {
    const size_t colon = rest.rfind(':');
    has_number = colon != std::string_view::npos;
    entry.host = rest.substr(0, colon);
    number = has_number ? rest.substr(colon + 1) : "";
  }
  const bool range = IsHostRange(entry.host);
  if (!range && !CheckHost(entry.host).ok()) {
    Report(place, Quoted(entry.host) + " is neither an IPv4 or IPv6 address nor a host name" +
                      (std::count(rest.begin(), rest.end(), ':') > 1
                           ? "; an IPv6 address with a number of devices is written [ADDRESS]:N"
                           : ""));
    return;
  }
  if (has_number) {
    const Place after = {place.line,
                         place.column + static_cast<size_t>(number.data() - word.data())};
    const uint32_t own = ReadSlots(number, after);
    if (own == 0) return;
    if (slots) {
      Report(after, "a number of devices both after ':' and after 'slots='; keep one");
      return;
    }
    entry.slots = own;
  }
  if (!range) return Add(std::move(entry), place);
  AddRange(entry, {place.line, place.column + static_cast<size_t>(rest.data() - word.data())});
}

void HostCollector::AddRange(const HostEntry& entry, Place place) {
  const HostRange range = ExpandHostRange(entry.host);
  if (!range.wrong.empty()) {
    return Report({place.line, place.column + range.wrong_at}, range.wrong);
  }
  for (const std::string& host : range.names) {
    if (!CheckHost(host).ok()) {
      return Report(place, Quoted(host) + " is neither an IPv4 address nor a host name");
    }
    Add({entry.user, host, entry.slots}, place);
  }
}

HostList HostCollector::Take(const std::string& nothing) {
  if (list_.hosts.empty() && list_.problems.empty()) {
    list_.problems.push_back({source_, 0, 0, nothing});
  }
  return std::move(list_);
}

HostList ParseHosts(std::string_view text) {
  HostCollector collector("--hosts");
  for (const std::string_view part : SplitHostList(text)) {
    const std::string_view word = Trimmed(part);
    const HostCollector::Place place{1, static_cast<size_t>(word.data() - text.data()) + 1};
    if (word.empty()) {
      collector.Report(place, "a host is missing here; hosts are separated by one comma");
    } else {
      collector.AddWord(word, std::nullopt, place);
    }
  }
  return collector.Take("no host");
}

HostList ParseHostfile(std::string_view text, const std::string& file) {
  HostCollector collector(file);
  size_t number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    line = line.substr(0, line.find('#'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    HostfileLine(line, ++number, collector).Read();
  }
  return collector.Take("no host in it; it should have lines such as 'gpu1 slots=4'");
}

}  // namespace autodist::spec
