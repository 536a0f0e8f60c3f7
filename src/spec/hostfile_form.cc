#include "spec/hostfile_form.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr char kWordEnds[] = " \t\r\f\v";

bool HasDigit(std::string_view word) {
  return std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c); });
}

bool IsHost(std::string_view word) {
  return IsHostRange(word) ? ExpandHostRange(word).wrong.empty()
                           : CheckHost(std::string(word)).ok();
}

bool IsAddress(std::string_view word) {
  return base::IpAddress::Parse(std::string(word)).has_value();
}

template <typename Predicate>
bool All(const std::vector<HostfileLine>& lines, Predicate predicate) {
  return std::ranges::all_of(lines,
                             [&](const HostfileLine& line) { return predicate(line.words); });
}

using LineWords = std::vector<HostfileWord>;

bool OfInventory(const HostfileLine& line) {
  return IsInventorySection(line.text) || std::ranges::any_of(line.words, [](const auto& word) {
           return word.text.starts_with("ansible_") &&
                  word.text.find('=') != std::string_view::npos;
         });
}

// Matches "rank 0=gpu1 slot=1".
bool OfRankfile(const LineWords& words) {
  const size_t equals = words.size() < 2 ? std::string_view::npos : words[1].text.find('=');
  return equals != std::string_view::npos && words[0].text == "rank" &&
         IsDigits(words[1].text.substr(0, equals));
}

bool OfGridEngine(const LineWords& words) {
  return (words.size() == 3 || words.size() == 4) && IsHost(words[0].text) &&
         IsDigits(words[1].text) && !IsDigits(words[2].text) &&
         words[2].text.find('=') == std::string_view::npos;
}

bool OfCounts(const LineWords& words) {
  if (words.size() < 2 || words.size() % 2 != 0) return false;
  for (size_t i = 0; i < words.size(); i += 2) {
    if (!IsHost(words[i].text) || !IsDigits(words[i + 1].text)) return false;
  }
  return true;
}

// Matches names only if they are repeated or have a number, to exclude sentences.
bool OfNames(const LineWords& words) {
  std::set<std::string_view> different;
  for (const HostfileWord& word : words) different.insert(word.text);
  const auto is_host = [](const HostfileWord& word) { return IsHost(word.text); };
  const auto has_digit = [](const HostfileWord& word) { return HasDigit(word.text); };
  return words.size() > 1 && std::ranges::all_of(words, is_host) &&
         (different.size() < words.size() || std::ranges::all_of(words, has_digit));
}

// Matches "gpu1:22 ann"; the host must have what a sentence has not.
bool OfUsers(const LineWords& words) {
  if (words.size() != 2 || IsDigits(words[1].text)) return false;
  const std::string_view user = words[1].text;
  const std::string_view host = words[0].text.substr(0, words[0].text.rfind(':'));
  return user.find_first_of("=@,/") == std::string_view::npos &&
         CheckUser(std::string(user)).ok() && (IsHost(host) || IsAddress(words[0].text)) &&
         (HasDigit(words[0].text) || host.find('.') != std::string_view::npos);
}

// Matches addresses followed by several names, or by different names on each line.
bool OfHostsTable(const std::vector<HostfileLine>& lines) {
  std::set<std::string_view> names;
  bool several = false;
  for (const HostfileLine& line : lines) {
    if (line.words.size() < 2 || !IsAddress(line.words[0].text) || !IsHost(line.words[1].text) ||
        IsDigits(line.words[1].text) || IsAddress(line.words[1].text)) {
      return false;
    }
    several |= line.words.size() > 2;
    names.insert(line.words[1].text);
  }
  return several || (lines.size() > 1 && names.size() == lines.size());
}

}  // namespace

bool IsInventorySection(std::string_view line) {
  if (!line.starts_with('[') || !line.ends_with(']')) return false;
  std::string_view name = line.substr(1, line.size() - 2);
  for (const std::string_view ending : {":vars", ":children"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
}

std::vector<HostfileLine> HostfileLines(std::string_view text) {
  std::vector<HostfileLine> lines;
  size_t number = 0;
  for (std::string_view whole : base::Split(text, '\n')) {
    ++number;
    const std::string_view line = whole.substr(0, whole.find('#'));
    const size_t begin = line.find_first_not_of(kWordEnds);
    if (begin == std::string_view::npos || line.substr(begin).starts_with("//")) continue;
    HostfileLine read{number, line.substr(begin, line.find_last_not_of(kWordEnds) + 1 - begin), {}};
    for (size_t at = begin; at < line.size(); at = line.find_first_not_of(kWordEnds, at)) {
      const size_t end = std::min(line.find_first_of(kWordEnds, at), line.size());
      read.words.push_back({line.substr(at, end - at), at + 1});
      at = end;
    }
    lines.push_back(std::move(read));
  }
  return lines;
}

HostfileForm FormOf(const std::vector<HostfileLine>& lines) {
  if (lines.empty()) return HostfileForm::kHosts;
  if (std::ranges::any_of(lines, OfInventory)) return HostfileForm::kInventory;
  if (std::ranges::any_of(lines, [](const HostfileLine& line) {
        return line.words[0].text.starts_with("NodeName=");
      })) {
    return HostfileForm::kNodeNames;
  }
  if (All(lines, OfRankfile)) return HostfileForm::kRanks;
  if (All(lines, OfCounts)) return HostfileForm::kCounts;
  if (All(lines, OfGridEngine)) return HostfileForm::kGridEngine;
  if (OfHostsTable(lines)) return HostfileForm::kHostsTable;
  if (lines.size() == 1 && OfNames(lines[0].words)) return HostfileForm::kNames;
  if (All(lines, OfUsers)) return HostfileForm::kUsers;
  return HostfileForm::kHosts;
}

}  // namespace autodist::spec
