#include "base/home_folder.h"

#include <cstdlib>

namespace autodist::base {

std::string ExpandHome(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");  // set by the login; a static program cannot look it up
  return (home ? home : "") + path.substr(1);
}

}  // namespace autodist::base
