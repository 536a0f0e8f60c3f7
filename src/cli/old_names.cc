#include "cli/old_names.h"

#include <algorithm>
#include <string_view>

namespace autodist::cli {
namespace {

struct Renamed {
  std::string_view before;
  std::string_view now;
};

constexpr Renamed kNames[] = {{"--control", "--allow-actions"},
                              {"--dialect", "--framework"},
                              {"--on-end", "--on-exit"},
                              {"--progress", "--progress-regex"},
                              {"--sample", "--sample-interval"},
                              {"--show-values", "--show-env-values"},
                              {"--spool", "--output-buffer"},
                              {"--sync-from", "--sync-topology"},
                              {"--web-control", "--web-allow-actions"},
                              {"dialects", "frameworks"}};

constexpr Renamed kTopologies[] = {{"first", "relay"}, {"here", "direct"}};

template <size_t kSize>
std::string Current(const Renamed (&table)[kSize], const std::string& word) {
  const auto* const found = std::ranges::find(table, word, &Renamed::before);
  return found == std::end(table) ? word : std::string(found->now);
}

}  // namespace

std::string CurrentName(const std::string& word) {
  const size_t equals = std::min(word.find('='), word.size());
  std::string name = Current(kNames, word.substr(0, equals));
  if (equals == word.size()) return name;
  return name + "=" + CurrentValue(name, word.substr(equals + 1));
}

std::string CurrentValue(const std::string& option, const std::string& value) {
  return option == "--sync-topology" ? Current(kTopologies, value) : value;
}

}  // namespace autodist::cli
