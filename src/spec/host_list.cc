#include "spec/host_list.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/ip_address.h"
#include "base/parse_number.h"
#include "spec/address.h"
#include "spec/hostfile_form.h"
#include "spec/quoted.h"
#include "spec/scalars.h"
#include "spec/text_check.h"

namespace autodist::spec {
namespace {

constexpr size_t kMaxNameLength = 253;
constexpr size_t kMaxDigits = 9;  // such a number fits into 32 bits

// Parses one range from left to right.
class RangeReader {
 public:
  explicit RangeReader(std::string_view text) : text_(text) {}

  HostRange Read() {
    range_.names = {""};
    bool right = !text_.empty() || Wrong(0, "a host name is missing here");
    while (right && at_ < text_.size()) right = text_[at_] == '[' ? ReadBrackets() : ReadLiteral();
    if (!right) range_.names.clear();
    return std::move(range_);
  }

 private:
  bool Wrong(size_t at, std::string what) {
    range_.wrong_at = at;
    range_.wrong = std::move(what);
    return false;
  }
  bool TooMany() { return Wrong(at_, TooManyHosts()); }

  bool ReadLiteral() {
    const size_t end = std::min(text_.find('[', at_), text_.size());
    const std::string_view literal = text_.substr(at_, end - at_);
    if (const size_t stray = literal.find(']'); stray != std::string_view::npos) {
      return Wrong(at_ + stray, "']' without a '[' before it");
    }
    const bool right = Append({std::string(literal)});
    at_ = end;
    return right;
  }

  // Appends each of the endings to each of the names.
  bool Append(const std::vector<std::string>& endings) {
    if (range_.names.size() * endings.size() > kMaxHosts) return TooMany();
    std::vector<std::string> longer;
    longer.reserve(range_.names.size() * endings.size());
    for (const std::string& name : range_.names) {
      for (const std::string& ending : endings) {
        if (name.size() + ending.size() > kMaxNameLength) {
          return Wrong(
              at_, "a host name of more than " + std::to_string(kMaxNameLength) + " characters");
        }
        longer.push_back(name + ending);
      }
    }
    range_.names = std::move(longer);
    return true;
  }

  bool ReadBrackets() {
    const size_t open = at_++;
    std::vector<std::string> endings;
    for (;;) {
      if (!ReadNumbers(endings)) return false;
      if (at_ == text_.size()) return Wrong(open, "'[' without a ']' after it");
      const char next = text_[at_++];
      if (next == ']') return Append(endings);
      if (next != ',') {
        return Wrong(at_ - 1, Quoted(text_.substr(at_ - 1, 1)) +
                                  " inside brackets, which hold numbers and ranges such as 01-16");
      }
    }
  }

  // Parses "7" or "01-16".
  bool ReadNumbers(std::vector<std::string>& endings) {
    const size_t begin = at_;
    const std::string_view first = Digits();
    if (first.empty() || first.size() > kMaxDigits) {
      return Wrong(begin,
                   "a number of up to " + std::to_string(kMaxDigits) + " digits should stand here");
    }
    if (at_ == text_.size() || text_[at_] != '-') {
      endings.emplace_back(first);
      return endings.size() <= kMaxHosts || TooMany();
    }
    ++at_;
    const std::string_view last = Digits();
    const bool right = !last.empty() && last.size() <= kMaxDigits && Number(last) >= Number(first);
    if (!right) return Wrong(begin, "a range that goes from a number to a greater one is meant");
    if (Number(last) - Number(first) >= kMaxHosts) return TooMany();
    for (uint32_t number = Number(first); number <= Number(last); ++number) {
      char digits[16];
      std::snprintf(digits, sizeof digits, "%0*u", static_cast<int>(first.size()), number);
      endings.emplace_back(digits);
    }
    return endings.size() <= kMaxHosts || TooMany();
  }

  std::string_view Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  static uint32_t Number(std::string_view digits) {
    return base::ParseNumber<uint32_t>(digits).value_or(0);
  }

  std::string_view text_;
  HostRange range_;
  size_t at_ = 0;
};

constexpr size_t kMaxIssues = 100;  // the file probably is something else
constexpr char kBlanks[] = " \t";

// Blanks alone become "" at their start.
std::string_view Trimmed(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

// Returns a hint for text with several colons.
std::string HintForColons(std::string_view word) {
  if (std::ranges::count(word, ':') < 2) return "";
  constexpr std::string_view kOfAddresses = "0123456789abcdefABCDEF:.[]";
  const bool address = word.find_first_not_of(kOfAddresses) == std::string_view::npos;
  return address ? "; an IPv6 address with a number of devices is written [ADDRESS]:N"
                 : "; a host and its number of devices are written HOST:N";
}

}  // namespace

bool IsHostRange(std::string_view text) {
  return !text.starts_with('[') && text.find('[') != std::string_view::npos;
}

HostRange ExpandHostRange(std::string_view text) { return RangeReader(text).Read(); }

size_t ListPartEnd(std::string_view text, char separator) {
  bool begins = true;
  bool quoted = false;
  bool in_range = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' && (quoted || begins)) quoted = !quoted;
    begins = begins && std::isspace(static_cast<unsigned char>(c));
    const bool bracket = std::string_view("[]{}").find(c) != std::string_view::npos;
    if (separator == ',' && bracket) in_range = c == '[' || c == '{';
    if (c == separator && !quoted && !in_range) return at;
  }
  return text.size();
}

std::vector<std::string_view> SplitHostList(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t end = ListPartEnd(text, ',');
    words.push_back(text.substr(0, end));
    if (end == text.size()) return words;
    text.remove_prefix(end + 1);
  }
}

HostWord SplitHostWord(std::string_view word) {
  HostWord parts;
  if (const size_t at = word.rfind('@'); at != std::string_view::npos) {
    parts.user = word.substr(0, at);
    word.remove_prefix(at + 1);
  }
  const auto is_v6 = [](std::string_view text) {
    return text.find(':') != std::string_view::npos && IsAddress(text);
  };
  const size_t close = word.starts_with('[') ? word.find(']') : std::string_view::npos;
  const std::string_view ending =
      close == std::string_view::npos ? std::string_view() : word.substr(close + 1);
  if (close != std::string_view::npos && (ending.empty() || ending.starts_with(':')) &&
      is_v6(word.substr(1, close - 1))) {
    parts.host = word.substr(1, close - 1);
    if (!ending.empty()) parts.number = ending.substr(1);
    return parts;
  }
  const size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || word.starts_with('[') || is_v6(word)) {
    parts.host = word;
  } else {
    parts.host = word.substr(0, colon);
    parts.number = word.substr(colon + 1);
  }
  return parts;
}

std::string TooManyHosts() {
  return "more than " + std::to_string(kMaxHosts) +
         " hosts, which is more than a resource spec holds";
}

void HostCollector::Report(Place place, const std::string& what) {
  if (full_) return;
  list_.issues.push_back(
      {source_, static_cast<int>(place.line), static_cast<int>(place.column), what});
  if (list_.issues.size() < kMaxIssues) return;
  full_ = true;
  list_.issues.push_back({source_, 0, 0, "too many errors; this may not be a list of hosts"});
}

void HostCollector::Add(HostEntry entry, Place place) {
  if (full_) return;
  const auto [known, is_new] = index_.emplace(Identity(entry.host), list_.hosts.size());
  if (is_new && list_.hosts.size() == kMaxHosts) {
    Report(place, TooManyHosts());
    full_ = true;
  } else if (is_new) {
    list_.hosts.push_back(std::move(entry));
  } else {
    Merge(list_.hosts[known->second], entry, place);
  }
}

void HostCollector::Merge(HostEntry& first, const HostEntry& entry, Place place) {
  constexpr char kOneOfThem[] =
      "; give one of them, or, for two machines behind one address, a host name each, such as in "
      "/etc/hosts";
  const std::string host = "host " + Quoted(entry.host);
  if (!entry.user.empty() && !first.user.empty() && entry.user != first.user) {
    Report(place, host + " appears with the user " + Quoted(entry.user) + " and with " +
                      Quoted(first.user) + kOneOfThem);
  }
  if (entry.port && first.port && entry.port != first.port) {
    Report(place, host + " appears with the port " + std::to_string(*entry.port) + " and with " +
                      std::to_string(*first.port) + kOneOfThem);
  }
  if (first.user.empty()) first.user = entry.user;
  if (!first.port) first.port = entry.port;
  if (first.key_file.empty()) first.key_file = entry.key_file;
  if (first.proxy_jump.empty()) first.proxy_jump = entry.proxy_jump;
  first.counted = (first.counted || !first.slots) && (entry.counted || !entry.slots);
  first.slots = first.slots.value_or(1) + entry.slots.value_or(1);
  if (*first.slots > kMaxSlots) {
    Report(place, host + " has more than " + std::to_string(kMaxSlots) + " slots altogether");
    first.slots = kMaxSlots;
  }
}

uint32_t HostCollector::ReadSlots(std::string_view text, Place place, uint32_t max) {
  const uint32_t slots = ReadWholeNumber(text, max).value_or(0);
  if (slots > 0) return slots;
  Report(place, Quoted(text) + " is not a number of devices; it should be from 1 to " +
                    std::to_string(max));
  return 0;
}

std::optional<uint16_t> HostCollector::ReadPort(std::string_view text, Place place) {
  const uint32_t port = ReadWholeNumber(text, UINT16_MAX).value_or(0);
  if (port > 0) return static_cast<uint16_t>(port);
  Report(place, Quoted(text) + " is not the number of a port");
  return std::nullopt;
}

void HostCollector::AddWord(std::string_view word, HostEntry entry, Place place) {
  const auto [user, host, number] = SplitHostWord(word);
  if (user) {
    const std::string name(*user);
    if (const Status status = CheckUser(name); !status.ok()) {
      return Report(place, "before the '@': " + Message(status));
    }
    if (!entry.user.empty() && entry.user != name) {
      return Report(place, "the user is both " + Quoted(name) + " and " + Quoted(entry.user) +
                               "; give one of them");
    }
    entry.user = name;
  }
  const std::string_view rest = word.substr(user ? user->size() + 1 : 0);
  entry.host = host;
  const bool range = IsHostRange(entry.host);
  if (const Status status = CheckHost(entry.host); !range && !status.ok()) {
    const bool file = place.line == 0 && host.find('/') != std::string_view::npos;
    return Report(
        place,
        Message(status) + (IsAddress(host) ? ""
                           : file ? "; a file of hosts is given with --spec or, to init, --hostfile"
                                  : HintForColons(rest)));
  }
  if (number) {
    const Place after = {place.line,
                         place.column + static_cast<size_t>(number->data() - word.data())};
    if (ReadWholeNumber(*number, UINT16_MAX).value_or(0) > kMaxDevicesOfAMachine) {
      return Report(after, Quoted(*number) + " is not a number of devices, of which there are " +
                               std::to_string(kMaxDevicesOfAMachine) +
                               " at most; a port is 'port: " + std::string(*number) +
                               "' in an ssh group of a spec");
    }
    const uint32_t own = ReadSlots(*number, after, kMaxDevicesOfAMachine);
    if (own == 0) return;
    if (entry.slots) {
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
    HostEntry one = entry;
    one.host = host;
    Add(std::move(one), place);
  }
}

HostList HostCollector::Take(const std::string& nothing) {
  if (list_.hosts.empty() && list_.issues.empty()) {
    list_.issues.push_back({source_, 0, 0, nothing});
  }
  return std::move(list_);
}

namespace {

// The hosts between two commas: blanks also separate.
std::vector<std::string_view> WordsOf(std::string_view part) {
  std::vector<std::string_view> words;
  for (part = Trimmed(part); !part.empty(); part = Trimmed(part.substr(words.back().size()))) {
    words.push_back(part.substr(0, part.find_first_of(" \t")));
  }
  return words;
}

}  // namespace

std::string WithPlaceholders(std::string_view text,
                             const std::function<bool(const std::string& host)>& needs_number) {
  const std::string plain = InAscii(text);
  std::vector<std::string> words;
  for (const std::string_view part : SplitHostList(plain)) {
    for (const std::string_view word : WordsOf(part)) {
      const auto [user, host, number] = SplitHostWord(word);
      words.emplace_back(word);
      if (number || !std::ranges::any_of(ExpandHostRange(host).names, needs_number)) continue;
      const bool is_v6 = host.find(':') != std::string_view::npos;
      words.back() = (user ? std::string(*user) + "@" : "") +
                     (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":N";
    }
  }
  return absl::StrJoin(words, ",");
}

HostList ParseHosts(std::string_view given) {
  const std::string plain = InAscii(given);
  const std::string_view text = plain;
  HostCollector collector("--hosts");
  const auto place = [&](std::string_view word) {
    return HostCollector::Place{0, static_cast<size_t>(word.data() - text.data()) + 1};
  };
  for (const std::string_view part : SplitHostList(text)) {
    if (Trimmed(part).empty()) {
      collector.Report(place(Trimmed(part)),
                       "a host is missing here; hosts are separated by one comma");
    }
    for (const std::string_view word : WordsOf(part)) collector.AddWord(word, {}, place(word));
  }
  return collector.Take("no host");
}

}  // namespace autodist::spec
