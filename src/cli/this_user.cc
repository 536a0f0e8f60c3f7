#include "cli/this_user.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace autodist::cli {

std::string UserName() {
  const passwd* entry = getpwuid(geteuid());
  return entry ? entry->pw_name : "";
}

std::string HomeFolder() {
  const char* home = std::getenv("HOME");
  const passwd* entry = home ? nullptr : getpwuid(geteuid());
  return home ? home : entry ? entry->pw_dir : "/";
}

std::vector<std::string> KnownHostsFiles() {
  return {HomeFolder() + "/.ssh/known_hosts", HomeFolder() + "/.ssh/known_hosts2",
          "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"};
}

}  // namespace autodist::cli
