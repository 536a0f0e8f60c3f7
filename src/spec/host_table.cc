#include "spec/host_table.h"

#include <absl/strings/match.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/split.h"
#include "spec/address.h"
#include "spec/quoted.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

using Cells = std::vector<HostfileWord>;

constexpr size_t kMaxColumns = 100;
constexpr char kCellBlanks[] = " \t\r\f\v";

// Removes blanks and quotes around a cell.
std::string_view CellText(std::string_view part) {
  part.remove_prefix(std::min(part.find_first_not_of(kCellBlanks), part.size()));
  return Unquoted(part.substr(0, part.find_last_not_of(kCellBlanks) + 1));
}

Cells CellsOf(const HostfileLine& line, char separator) {
  if (separator == ' ') return line.words;
  Cells cells;
  std::string_view rest = line.text;
  if (separator == '|') base::TakePrefix(rest, "|");
  for (bool more = true; more;) {
    const size_t end = ListPartEnd(rest, separator);
    const std::string_view cell = CellText(rest.substr(0, end));
    cells.push_back(
        {cell, line.words[0].column + static_cast<size_t>(cell.data() - line.text.data())});
    more = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  while (cells.size() > 1 && cells.back().text.empty()) cells.pop_back();
  return cells;
}

bool NamesMachine(HostSetting setting) {
  return setting == HostSetting::kAddress || setting == HostSetting::kHost ||
         setting == HostSetting::kName;
}

// Whether the cells are names of columns. "server" alone may also be the name of a machine.
bool AreNames(const Cells& cells) {
  if (cells.size() > kMaxColumns) return false;
  size_t known = 0;
  bool machine = false;
  bool certain = false;
  for (const HostfileWord& cell : cells) {
    const HostSetting setting = SettingNamed(cell.text);
    if (setting == HostSetting::kUnknown &&
        (HasDigit(cell.text) || cell.text.find_first_of("=@:") != std::string_view::npos)) {
      return false;
    }
    known += setting != HostSetting::kUnknown ? 1 : 0;
    machine |= NamesMachine(setting);
    for (const char* beginning : {"host", "ip", "addr", "nodelist", "nodename"}) {
      certain |=
          NamesMachine(setting) && absl::StartsWithIgnoreCase(std::string(cell.text), beginning);
    }
  }
  return machine && (certain || known > 1);
}

// Returns ' ' if the lines have none.
char SeparatorOf(const std::vector<HostfileLine>& lines) {
  for (const char separator : {'|', ';', ','}) {
    const auto separates = [&](const HostfileLine& line) {
      return CellsOf(line, separator).size() > 1;
    };
    const bool names = separates(lines[0]) && AreNames(CellsOf(lines[0], separator));
    if (names || std::ranges::all_of(lines, separates)) return separator;
  }
  return ' ';
}

// Removes the lines of /etc/hosts that name this machine or groups of machines.
void LeaveOutLoopbacks(HostTable& table) {
  const auto is_special = [](const HostfileLine& row) {
    const std::string address(WithoutPrefixLength(row.words[0].text));
    if (row.words.size() < 2 || !IsAddress(address)) return false;
    return IsLoopback(address) || !CheckHost(address).ok() || row.words[1].text.starts_with("ip6-");
  };
  if (std::ranges::all_of(table.rows, is_special)) return;
  table.leaves_out = std::erase_if(table.rows, is_special) > 0;
}

enum class CellKind { kNumber, kAddress, kName, kText };

CellKind KindOf(std::string_view cell) {
  if (IsDigits(cell)) return CellKind::kNumber;
  const auto [user, host, number] = SplitHostWord(cell);
  const bool right =
      (!user || CheckUser(std::string(*user)).ok()) && (!number || IsDigits(*number));
  if (!right) return CellKind::kText;
  if (IsAddress(host)) return CellKind::kAddress;
  return IsHost(host) ? CellKind::kName : CellKind::kText;
}

// Names and addresses may be mixed.
CellKind KindOf(const Cells& cells) {
  std::set<CellKind> kinds;
  for (const HostfileWord& cell : cells) kinds.insert(KindOf(cell.text));
  if (kinds.size() == 1) return *kinds.begin();
  return kinds == std::set{CellKind::kAddress, CellKind::kName} ? CellKind::kName : CellKind::kText;
}

bool HasDigitOrDot(const HostfileWord& cell) {
  return HasDigit(cell.text) || cell.text.find('.') != std::string_view::npos;
}

// Returns what numbers are, or kUnknown. Counts from 0, or in the first column from 1, are ranks.
HostSetting SettingOfNumbers(const Cells& cells, bool is_first) {
  std::vector<uint32_t> numbers;
  for (const HostfileWord& cell : cells) {
    numbers.push_back(ReadWholeNumber(cell.text, UINT32_MAX).value_or(UINT32_MAX));
  }
  bool ranks = numbers[0] == 0 || (is_first && numbers[0] == 1 && numbers.size() > 1);
  for (size_t i = 1; i < numbers.size(); ++i) ranks = ranks && numbers[i] == numbers[i - 1] + 1;
  if (ranks) return HostSetting::kRank;
  if (std::ranges::all_of(numbers, IsLikeAPort)) return HostSetting::kPort;
  return std::ranges::none_of(numbers, IsLikeAPort) ? HostSetting::kSlots : HostSetting::kUnknown;
}

// Returns what a name beside an address is, or kUnknown. `numbered`: one has a digit or a dot.
HostSetting SettingBesideAddress(const Cells& cells, bool numbered) {
  std::set<std::string_view> different;
  for (const HostfileWord& cell : cells) different.insert(cell.text);
  if (different.size() == cells.size() && numbered) return HostSetting::kName;
  const bool same = cells.size() > 1 && different.size() == 1 && !numbered;
  return same || cells[0].text == "root" ? HostSetting::kUser : HostSetting::kUnknown;
}

// Guesses what the columns have that no line names.
class ColumnGuess {
 public:
  explicit ColumnGuess(HostTable& table) : table_(table), by_blanks_(table.separator == ' ') {}

  // False: this is no table.
  bool Guess();

 private:
  bool SortColumns();
  // kUnknown, or a setting that another column has: the column is unclear.
  void Set(size_t column, HostSetting setting);
  bool SetNames();

  HostTable& table_;
  const bool by_blanks_;
  std::vector<Cells> cells_;                         // of each column
  std::map<CellKind, std::vector<size_t>> columns_;  // of each kind
};

bool ColumnGuess::Guess() {
  if (!SortColumns()) return false;
  const std::vector<size_t>& addresses = columns_[CellKind::kAddress];
  const std::vector<size_t>& texts = columns_[CellKind::kText];
  if (!texts.empty() && (by_blanks_ || addresses.size() != 1)) {
    if (by_blanks_ || table_.rows.size() < 2 || columns_[CellKind::kName].empty()) return false;
    Set(texts[0], HostSetting::kUnknown);
    return true;
  }
  for (const size_t column : addresses) Set(column, HostSetting::kAddress);
  for (const size_t column : columns_[CellKind::kNumber]) {
    Set(column, SettingOfNumbers(cells_[column], column == 0));
  }
  return SetNames();
}

// A row of /etc/hosts may have more names than others.
bool ColumnGuess::SortColumns() {
  for (const HostfileLine& row : table_.rows) {
    if (row.text.find('=') != std::string_view::npos) return false;  // an option
    if (row.words.size() > kMaxColumns) return false;
    cells_.resize(std::max(cells_.size(), row.words.size()));
    for (size_t i = 0; i < row.words.size(); ++i) cells_[i].push_back(row.words[i]);
  }
  for (size_t i = 0; i < cells_.size(); ++i) {
    const CellKind kind = KindOf(cells_[i]);
    const bool in_all_rows = cells_[i].size() == table_.rows.size();
    if (!in_all_rows && (i < 2 || kind != CellKind::kName)) return false;
    columns_[kind].push_back(i);
  }
  table_.columns.resize(cells_.size());
  return cells_.size() > 1;
}

void ColumnGuess::Set(size_t column, HostSetting setting) {
  const bool twice = std::ranges::count(table_.columns, setting, &HostTable::Column::setting) > 0;
  if (setting != HostSetting::kUnknown && (!twice || setting == HostSetting::kName)) {
    table_.columns[column].setting = setting;
  } else if (!table_.refused) {
    const auto row = std::ranges::find_if(
        table_.rows, [&](const HostfileLine& one) { return one.words.size() > column; });
    table_.refused =
        HostTable::Refused{row->words[column].text, {row->number, row->words[column].column}};
  }
}

bool ColumnGuess::SetNames() {
  const std::vector<size_t>& names = columns_[CellKind::kName];
  const std::vector<size_t>& addresses = columns_[CellKind::kAddress];
  if (names.empty()) return !addresses.empty();
  HostSetting others = HostSetting::kUnknown;
  if (addresses.empty()) {
    const bool machines = std::ranges::all_of(cells_[names[0]], HasDigitOrDot);
    if (by_blanks_ && names.size() > 1 && !machines) return false;  // a sentence
    Set(names[0], HostSetting::kHost);
    if (names.size() == 1) return true;
    const bool ranges = std::ranges::any_of(
        cells_[names[0]], [](const HostfileWord& cell) { return IsHostRange(cell.text); });
    const bool users = by_blanks_ && std::ranges::none_of(cells_[names[1]], HasDigitOrDot);
    if (users && !ranges) others = HostSetting::kUser;  // of pssh, which has no ranges
  } else {
    const bool numbered = std::ranges::any_of(
        names, [&](size_t column) { return std::ranges::any_of(cells_[column], HasDigitOrDot); });
    const HostSetting first = SettingBesideAddress(cells_[names[0]], numbered);
    Set(names[0], first);
    const bool hosts_file = by_blanks_ && addresses[0] == 0 && columns_[CellKind::kNumber].empty();
    if (hosts_file && first == HostSetting::kName) others = first;
  }
  for (size_t i = 1; i < names.size(); ++i) Set(names[i], others);
  return true;
}

void TakeNames(HostTable& table) {
  const HostfileLine names = table.rows[0];
  table.has_names = true;
  table.rows.erase(table.rows.begin());
  bool has_address = false;
  for (const auto& [name, at] : names.words) {
    const HostSetting setting = SettingNamed(name);
    table.columns.push_back({setting, name});
    if (has_address && setting == HostSetting::kAddress) {
      table.refused = HostTable::Refused{name, {names.number, at}};
    }
    has_address |= setting == HostSetting::kAddress;
  }
}

void ReadRow(const HostTable& table, const HostfileLine& row, HostCollector& collector) {
  if (row.words.size() > table.columns.size()) {
    // Does not show the line, which may have a password.
    return collector.ReportLine(row.number, "the line has " + std::to_string(row.words.size()) +
                                                " columns, and the first line names " +
                                                std::to_string(table.columns.size()));
  }
  HostSettings settings(collector);
  std::vector<std::pair<HostSetting, HostfileWord>> names;
  for (size_t i = 0; i < row.words.size(); ++i) {
    const auto& [setting, name] = table.columns[i];
    const HostfileWord& cell = row.words[i];
    if (cell.text.empty()) continue;
    if (NamesMachine(setting)) {
      names.emplace_back(setting, cell);
      continue;
    }
    const HostCollector::Place place{row.number, cell.column};
    const auto outcome = settings.Use(setting, {name, cell.text, place, place});
    if (outcome == HostSettings::Outcome::kWrong) return;
  }
  if (names.empty()) {
    return collector.ReportLine(row.number, Quoted(row.text) + " has no host");
  }
  settings.entry().counted = settings.entry().slots && !table.has_names;
  std::ranges::stable_sort(names, {}, &std::pair<HostSetting, HostfileWord>::first);
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i].second.text != names[0].second.text) {
      settings.entry().also.emplace_back(names[i].second.text);
    }
  }
  settings.AddLogin(names[0].second.text, {row.number, names[0].second.column});
}

// Returns why the column cannot be used, and what to write.
std::string WhyRefused(const HostTable& table) {
  // A text beside a user may be a password.
  const bool shown = table.has_names || std::ranges::count(table.columns, HostSetting::kUser,
                                                           &HostTable::Column::setting) == 0;
  const std::string column = shown ? Quoted(UpToColon(table.refused->text)) : "the text here";
  if (!table.has_names) {
    const std::string separator(1, table.separator);
    return "it is unclear what " + column +
           " is; put the names of the columns in the first line, such as 'host" + separator +
           "user" + separator + "port', or each machine on a separate line";
  }
  return column + " is a second column of addresses; keep the one that this machine reaches";
}

}  // namespace

std::optional<HostTable> TableOf(const std::vector<HostfileLine>& lines) {
  if (lines.empty()) return std::nullopt;
  HostTable table;
  table.separator = SeparatorOf(lines);
  for (const HostfileLine& line : lines) {
    table.rows.push_back({line.number, line.text, CellsOf(line, table.separator)});
  }
  if (lines.size() > 1 && AreNames(table.rows[0].words)) {
    TakeNames(table);
    return table;
  }
  LeaveOutLoopbacks(table);
  return ColumnGuess(table).Guess() ? std::optional(std::move(table)) : std::nullopt;
}

void ReadTable(const HostTable& table, HostCollector& collector) {
  if (table.refused) return collector.Report(table.refused->place, WhyRefused(table));
  for (const HostfileLine& row : table.rows) ReadRow(table, row, collector);
  std::vector<std::string> read;
  std::vector<std::string> unused;
  for (const auto& [setting, name] : table.columns) {
    read.emplace_back(SettingText(setting));
    const bool used = setting != HostSetting::kUnknown && setting != HostSetting::kRank;
    if (table.has_names && !used) unused.push_back(Quoted(name));
  }
  const std::string file = collector.source() + ": ";
  if (!table.has_names) {
    collector.Warn(file + "each line is read as: " + absl::StrJoin(read, ", ") +
                   (table.leaves_out ? "; loopback and multicast addresses are left out" : ""));
  } else if (!unused.empty()) {
    collector.Warn(file + "columns that are not used: " + absl::StrJoin(unused, ", "));
  } else if (table.columns.size() == 1) {
    collector.Warn(file + "the first line, " + Quoted(table.columns[0].name) +
                   ", is taken for the name of the column");
  }
}

}  // namespace autodist::spec
