#include "health/small_files.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/fd.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::health {
namespace {

constexpr size_t kLargestSmallFile = 4'096;  // bytes
constexpr size_t kMaxEntries = 100'000;      // of a folder

}  // namespace

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(folder.c_str()), closedir);
  while (const dirent* entry = all ? readdir(all.get()) : nullptr) {
    if (entry->d_name[0] != '.' && names.size() < kMaxEntries) names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::string LineOf(const std::string& path) {
  const auto text = base::ReadFile(path, kLargestSmallFile);
  return text.ok() ? std::string(base::FirstLine(*text)) : "";
}

std::optional<uint64_t> NumberOf(const std::string& path) {
  const std::string line = LineOf(path);
  return base::ParseNumber<uint64_t>(
      std::string_view(line).substr(0, line.find_first_not_of("0123456789")));
}

}  // namespace autodist::health
