#include "base/home_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace autodist::base {
namespace {

// "" where there is none.
std::string KnownToTheShell() {
  const char* home = std::getenv("HOME");
  return home && home[0] == '/' ? home : "";
}

std::string KnownToTheSystem() {
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_dir : "";
}

}  // namespace

std::string HomeFolder() {
  const std::string home = KnownToTheShell();
  return home.empty() ? KnownToTheSystem() : home;
}

std::string ExpandHome(const std::string& path) {
  return path.starts_with("~/") ? HomeFolder() + path.substr(1) : path;
}

}  // namespace autodist::base
