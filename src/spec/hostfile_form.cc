#include "spec/hostfile_form.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "base/ip_address.h"
#include "base/split.h"
#include "spec/address.h"
#include "spec/host_list.h"
#include "spec/host_table.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr char kWordEnds[] = " \t\r\f\v";

bool EndsWord(char c) { return std::string_view(kWordEnds).find(c) != std::string_view::npos; }

// Returns the beginning of the comment of a line, or its size. Marks other than '#' are words.
size_t CommentIn(std::string_view line) {
  size_t comment = std::min(line.find('#'), line.size());
  for (const std::string_view mark : {";", "//", "--"}) {
    for (size_t at = line.find(mark); at < comment; at = line.find(mark, at + 1)) {
      const size_t end = at + mark.size();
      const bool begins = at == 0 || EndsWord(line[at - 1]);
      const bool alone = end == line.size() || EndsWord(line[end]);
      if (begins && (alone || mark != "--")) comment = at;
    }
  }
  return comment;
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

bool OfTemplate(const HostfileLine& line) {
  return line.text.find("{{") != std::string_view::npos || line.text.starts_with("{%");
}

// Matches "rank 0=gpu1 slot=1".
bool OfRankfile(const LineWords& words) {
  const size_t equals = words.size() < 2 ? std::string_view::npos : words[1].text.find('=');
  return equals != std::string_view::npos && words[0].text == "rank" &&
         IsDigits(words[1].text.substr(0, equals));
}

// Matches "gpu1 2 all.q@gpu1 UNDEFINED". With three fields, the queue has its host.
bool OfGridEngine(const LineWords& words) {
  if (words.size() != 3 && words.size() != 4) return false;
  const std::string_view queue = words[2].text;
  const bool right = words.size() == 4 || queue.find('@') != std::string_view::npos;
  return right && IsHost(words[0].text) && IsDigits(words[1].text) && !IsDigits(queue) &&
         !IsAddress(queue) && queue.find('=') == std::string_view::npos &&
         !IsDigits(words.back().text);
}

// Matches "gpu1 2 gpu2 2".
bool OfCounts(const std::vector<HostfileLine>& lines) {
  bool several = false;
  for (const HostfileLine& line : lines) {
    const LineWords& words = line.words;
    if (words.size() < 2 || words.size() % 2 != 0) return false;
    for (size_t i = 0; i < words.size(); i += 2) {
      if (!IsHost(words[i].text) || !IsDigits(words[i + 1].text)) return false;
      // An address, a port, a name and a number are one machine.
      if (IsAddress(words[i].text) != IsAddress(words[0].text)) return false;
    }
    several |= words.size() > 2;
  }
  return several;
}

// Matches "ann@gpu1:2".
bool OfHost(const HostfileWord& word) {
  const auto [user, host, number] = SplitHostWord(word.text);
  return (!user || CheckUser(std::string(*user)).ok()) && IsHost(host) &&
         (!number || IsDigits(*number));
}

// The words of a line, separated by commas outside of brackets, or by blanks.
LineWords WordsOfList(const HostfileLine& line) {
  LineWords words;
  for (const HostfileWord& word : line.words) {
    for (const std::string_view part : SplitHostList(word.text)) {
      if (!part.empty()) words.push_back({Unquoted(part), 0});
    }
  }
  return words;
}

// Matches addresses, or names that differ in their numbers alone: "gpu1", "gpu[2-4]".
bool OfOneSeries(const LineWords& words) {
  const auto beginning = [](const HostfileWord& word) {
    const std::string_view host = SplitHostWord(word.text).host;
    return IsAddress(host) ? std::string_view() : host.substr(0, host.find_first_of("0123456789["));
  };
  return std::ranges::all_of(words, [&](const HostfileWord& word) {
    return HasDigit(word.text) && beginning(word) == beginning(words[0]);
  });
}

// Matches several machines a line, of which one must not be the address of another. Names that only
// blanks separate are repeated or have a number, to exclude sentences.
bool OfNames(const std::vector<HostfileLine>& lines) {
  LineWords all;
  bool several = false;
  bool commas = true;  // beside each blank
  for (const HostfileLine& line : lines) {
    const LineWords words = WordsOfList(line);
    several |= words.size() > 1;
    all.insert(all.end(), words.begin(), words.end());
    for (size_t i = 1; i < line.words.size(); ++i) {
      commas &= line.words[i - 1].text.ends_with(',') || line.words[i].text.starts_with(',');
    }
  }
  if (!several || !std::ranges::all_of(all, OfHost)) return false;
  if (lines.size() > 1) return OfOneSeries(all);
  const auto addresses = std::ranges::count_if(
      all, [](const HostfileWord& word) { return IsAddress(SplitHostWord(word.text).host); });
  if (addresses > 0 && std::cmp_less(addresses, all.size())) return false;
  std::set<std::string_view> different;
  for (const HostfileWord& word : all) different.insert(word.text);
  return commas || different.size() < all.size() ||
         std::ranges::all_of(all, [](const HostfileWord& word) { return HasDigit(word.text); });
}

// Matches "gpu1,10.0.0.1 ssh-ed25519 AAAA...", perhaps with a marker such as "@revoked".
bool OfKnownHosts(const LineWords& words) {
  const size_t host = words[0].text.starts_with('@') ? 1 : 0;
  if (words.size() < host + 3) return false;
  const std::string_view type = words[host + 1].text;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-"},
      [&](std::string_view beginning) { return type.starts_with(beginning); });
}

bool OfSshConfig(const std::vector<HostfileLine>& lines) {
  const auto has = [&](auto is_keyword) {
    return std::ranges::any_of(lines, [&](const HostfileLine& line) {
      return line.words.size() > 1 && is_keyword(std::string(line.words[0].text));
    });
  };
  return has([](const std::string& word) {
           return absl::EqualsIgnoreCase(word, "Host") || absl::EqualsIgnoreCase(word, "Match");
         }) &&
         has(IsSshKeyword);
}

// Matches "gpu[1-4] compute,ngpus=8": hosts with their attributes, of which one line has several.
bool OfGenders(const std::vector<HostfileLine>& lines) {
  std::set<std::string_view> hosts;
  for (const HostfileLine& line : lines) hosts.insert(line.words[0].text);
  const auto is_attribute = [&](std::string_view text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
           !hosts.contains(text);
  };
  const auto has_several = [](const HostfileLine& line) {
    const std::string_view attributes = line.words.back().text;
    return attributes.substr(0, attributes.find('=')).find(',') != std::string_view::npos;
  };
  return All(lines,
             [&](const LineWords& words) {
               return words.size() == 2 && IsHost(words[0].text) && !IsAddress(words[0].text) &&
                      std::ranges::all_of(base::Split(words[1].text, ','), is_attribute);
             }) &&
         std::ranges::any_of(lines, has_several);
}

// Matches the line under the names of a printed table: "|---|---|", "+-----+", "---- ----".
bool IsRule(std::string_view line) {
  return line.find("---") != std::string_view::npos &&
         line.find_first_not_of("-+|: ") == std::string_view::npos;
}

}  // namespace

bool HasDigit(std::string_view word) {
  return std::ranges::any_of(word, [](unsigned char c) { return std::isdigit(c); });
}

std::string_view WithoutPrefixLength(std::string_view word) {
  return IsAddress(word) ? word.substr(0, word.find('/')) : word;
}

bool IsAddress(std::string_view word) {
  return base::IpAddress::Parse(std::string(word.substr(0, word.find('/')))).has_value();
}

bool IsHost(std::string_view word) {
  if (!IsHostRange(word)) return CheckHost(std::string(WithoutPrefixLength(word))).ok();
  return std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("._-[],").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::string_view Unquoted(std::string_view text) {
  const bool quoted = text.size() > 1 && (text[0] == '"' || text[0] == '\'') &&
                      text.find(text[0], 1) == text.size() - 1;
  return quoted ? text.substr(1, text.size() - 2) : text;
}

bool IsSshKeyword(std::string_view word) {
  constexpr const char* kKeywords[] = {
      "HostName",  "User",         "Port",         "IdentityFile",          "IdentitiesOnly",
      "ProxyJump", "ProxyCommand", "ForwardAgent", "StrictHostKeyChecking", "ServerAliveInterval"};
  return std::ranges::any_of(kKeywords, [&](const char* keyword) {
    return absl::EqualsIgnoreCase(std::string(word), keyword);
  });
}

const RefusedForm* WhyRefused(HostfileForm form) {
  static constexpr RefusedForm kRefused[] = {
      {HostfileForm::kKnownHosts, "a known_hosts file",
       "it has every server that was reached; write the machines of the job, a line each, such as "
       "'gpu1 port=2222'"},
      {HostfileForm::kSshConfig, "a configuration of OpenSSH",
       "'autodist init --ssh-config' takes the hosts of ~/.ssh/config; their settings stay there"},
      {HostfileForm::kGenders, "a genders file",
       "give the hosts of an attribute: --hosts \"$(nodeattr -c ATTRIBUTE)\""},
      {HostfileForm::kTemplate, "a template that is not filled in", "give the file that it makes"}};
  const auto refused = std::ranges::find(kRefused, form, &RefusedForm::form);
  return refused == std::end(kRefused) ? nullptr : refused;
}

bool IsSsh(std::string_view word) { return word == "ssh" || word.ends_with("/ssh"); }

bool IsSshCommand(const HostfileLine& line) {
  const auto& words = line.words;
  if (words.size() < 2) return false;
  const std::string_view host = words[0].text;
  const std::string_view next = words[1].text;
  if (IsSsh(host)) {
    // "ssh slots=2" is a host.
    return next.starts_with('-') || next.find('=') == std::string_view::npos;
  }
  return next == "-p" ||
         (next.starts_with('-') && (host.find('@') != std::string_view::npos || IsAddress(host)));
}

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
    const std::string_view line = whole.substr(0, CommentIn(whole));
    const size_t begin = line.find_first_not_of(kWordEnds);
    if (begin == std::string_view::npos || IsRule(line)) continue;
    HostfileLine read{number, line.substr(begin, line.find_last_not_of(kWordEnds) + 1 - begin), {}};
    for (size_t at = begin; at < line.size(); at = line.find_first_not_of(kWordEnds, at)) {
      const size_t end = std::min(line.find_first_of(kWordEnds, at), line.size());
      read.words.push_back({Unquoted(line.substr(at, end - at)), at + 1});
      at = end;
    }
    lines.push_back(std::move(read));
  }
  return lines;
}

HostfileForm FormOf(const std::vector<HostfileLine>& lines) {
  if (lines.empty()) return HostfileForm::kHosts;
  if (std::ranges::any_of(lines, OfInventory)) return HostfileForm::kInventory;
  if (std::ranges::any_of(lines, OfTemplate)) return HostfileForm::kTemplate;
  if (std::ranges::any_of(lines, [](const HostfileLine& line) {
        return line.words[0].text.starts_with("NodeName=");
      })) {
    return HostfileForm::kNodeNames;
  }
  if (OfSshConfig(lines)) return HostfileForm::kSshConfig;
  if (std::ranges::any_of(lines, IsSshCommand)) return HostfileForm::kHosts;
  if (All(lines, OfRankfile)) return HostfileForm::kRanks;
  if (All(lines, OfKnownHosts)) return HostfileForm::kKnownHosts;
  if (OfCounts(lines)) return HostfileForm::kCounts;
  if (All(lines, OfGridEngine)) return HostfileForm::kGridEngine;
  if (OfNames(lines)) return HostfileForm::kNames;
  if (OfGenders(lines)) return HostfileForm::kGenders;
  if (TableOf(lines)) return HostfileForm::kTable;
  return HostfileForm::kHosts;
}

}  // namespace autodist::spec
