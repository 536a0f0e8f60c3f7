#include "base/folder_entries.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/fd.h"

namespace autodist::base {
namespace {

std::vector<std::string> EntriesIn(UniqueFd folder) {
  std::vector<std::string> names;
  DIR* const listing = folder.valid() ? fdopendir(folder.get()) : nullptr;
  if (!listing) return names;
  (void)folder.Release();  // closed by closedir
  errno = 0;
  while (const dirent* entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  closedir(listing);
  std::ranges::sort(names);
  errno = error;
  return names;
}

}  // namespace

std::vector<std::string> EntriesOf(const std::string& folder) {
  return EntriesIn(UniqueFd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

std::vector<std::string> EntriesOf(int folder) {
  return EntriesIn(UniqueFd(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

}  // namespace autodist::base
