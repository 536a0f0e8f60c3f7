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

}  // namespace autodist::base
