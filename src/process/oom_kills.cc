#include "process/oom_kills.h"

#include <fstream>
#include <string>

namespace autodist::process {

uint64_t OomKills() {
  std::ifstream counts("/proc/vmstat");
  std::string name;
  for (uint64_t count = 0; counts >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

}  // namespace autodist::process
