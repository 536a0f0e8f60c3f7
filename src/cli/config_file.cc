// Finds and reads config.toml.
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/home_folder.h"
#include "cli/config_defaults.h"
#include "reach/own_file.h"

namespace autodist::cli {
namespace {

constexpr size_t kMaxConfigSize = 1 << 20;  // bytes

}  // namespace

std::string ConfigPath() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && config[0] == '/') return std::string(config) + "/autodist/config.toml";
  const std::string home = base::HomeFolder();
  return home.empty() ? "" : home + "/.config/autodist/config.toml";
}

Result<std::vector<ConfigSetting>> ReadConfig(const std::string& path) {
  if (path.empty() || access(path.c_str(), F_OK) != 0) return std::vector<ConfigSetting>();
  const Status own = reach::CheckNoOthersWrite(path);
  if (!own.ok()) {
    return WithRemedy(own, "run chmod go-w on it, or give --no-config");
  }
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxConfigSize));
  return ParseConfig(text);
}

}  // namespace autodist::cli
