#include "base/home_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace autodist::base {

std::string HomeFolder() {
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return home;
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_dir : "";
}

std::string ExpandHome(const std::string& path) {
  return path.starts_with("~/") ? HomeFolder() + path.substr(1) : path;
}

std::string ShortenHome(const std::string& path) {
  std::string home = HomeFolder();
  while (home.ends_with('/')) home.pop_back();
  const bool is_below = !home.empty() && path.starts_with(home) &&
                        (path.size() == home.size() || path[home.size()] == '/');
  return is_below ? "~" + path.substr(home.size()) : path;
}

}  // namespace autodist::base
