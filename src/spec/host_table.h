// Lists of machines in columns: CSV, printed tables, hosts and users of pssh, and /etc/hosts.
//
// Names in the first line say what the columns have. Without them, the cells must show it: a number
// above 512 is a port; the numbers 0, 1, 2 and so on are ranks; a name beside an address is that of
// the same machine. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/host_list.h"
#include "spec/host_settings.h"
#include "spec/hostfile_form.h"

namespace autodist::spec {

struct HostTable {
  struct Column {
    HostSetting setting = HostSetting::kUnknown;
    std::string_view name = {};  // as in the first line; empty: none
  };
  // A column that cannot be used, by its name or its first cell.
  struct Refused {
    std::string_view text;
    HostCollector::Place place;
  };
  char separator = ' ';
  std::vector<Column> columns;
  std::vector<HostfileLine> rows;  // their words are the cells; a row may have fewer than columns
  bool has_names = false;
  bool leaves_out = false;  // lines of /etc/hosts that name no other machine
  std::optional<Refused> refused;
};

// Returns nullopt if the lines are no table.
std::optional<HostTable> TableOf(const std::vector<HostfileLine>& lines);

// Adds the machines, one for each row, and warns of what was assumed or not used.
void ReadTable(const HostTable& table, HostCollector& collector);

}  // namespace autodist::spec
