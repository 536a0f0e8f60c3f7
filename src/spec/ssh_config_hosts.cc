#include "spec/ssh_config_hosts.h"

#include <fnmatch.h>
#include <glob.h>
#include <strings.h>

#include <algorithm>
#include <set>

#include "base/split.h"
#include "base/text_file.h"
#include "spec/address.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

constexpr size_t kLargestConfig = 1 << 20;  // bytes
constexpr size_t kMostIncluded = 1000;      // files
constexpr size_t kNamesShown = 10;
constexpr char kConfigBlanks[] = " \t\r\f";

// The words of a line; double quotes keep blanks. The first ends at '=' too.
std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  size_t at = 0;
  for (;;) {
    at = line.find_first_not_of(words.size() == 1 ? " \t\r\f=" : kConfigBlanks, at);
    if (at == std::string_view::npos || line[at] == '#') return words;
    size_t end = 0;
    if (line[at] == '"') {
      end = std::min(line.find('"', ++at), line.size());
    } else {
      end =
          std::min(line.find_first_of(words.empty() ? " \t\r\f=" : kConfigBlanks, at), line.size());
    }
    words.emplace_back(line.substr(at, end - at));
    at = end < line.size() && line[end] == '"' ? end + 1 : end;
  }
}

std::vector<std::string> FilesMatching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + std::min(found.gl_pathc, kMostIncluded));
  }
  globfree(&found);
  return files;
}

class Config {
 public:
  Config(std::string ssh_folder, std::string home, std::string pattern)
      : ssh_folder_(std::move(ssh_folder)),
        home_(std::move(home)),
        pattern_(std::move(pattern)),
        collector_(ssh_folder_ + "/config") {}

  HostList Read() {
    const std::string file = ssh_folder_ + "/config";
    const auto text = base::ReadTextFile(file, kLargestConfig);
    if (!text.ok()) return {{}, {{"--ssh-config", 0, 0, Message(text.status())}}, {}};
    ReadText(*text, file, /*included=*/false);
    return collector_.Take(NothingFound());
  }

 private:
  void ReadText(std::string_view text, const std::string& file, bool included) {
    size_t number = 0;
    for (const std::string_view line : base::Split(text, '\n')) {
      const std::vector<std::string> words = Words(line);
      ++number;
      if (words.empty()) continue;
      const std::string where = file + ":" + std::to_string(number) + ": ";
      const std::vector<std::string> arguments(words.begin() + 1, words.end());
      if (strcasecmp(words[0].c_str(), "Host") == 0) {
        for (const std::string& name : arguments) AddName(name, where, number);
      } else if (strcasecmp(words[0].c_str(), "Include") == 0 && included) {
        collector_.Warn(where + "an Include inside an included file is not followed");
      } else if (strcasecmp(words[0].c_str(), "Include") == 0) {
        for (const std::string& path : arguments) Include(path, where);
      }
    }
  }

  void Include(std::string path, const std::string& where) {
    if (path.starts_with("~/")) {
      path = home_ + path.substr(1);
    } else if (!path.starts_with('/')) {
      path = ssh_folder_ + "/" + path;
    }
    for (const std::string& file : FilesMatching(path)) {
      const auto text = base::ReadTextFile(file, kLargestConfig);
      if (text.ok()) {
        ReadText(*text, file, /*included=*/true);
      } else {
        collector_.Warn(where + "not included: " + Message(text.status()));
      }
    }
  }

  void AddName(const std::string& name, const std::string& where, size_t line) {
    if (name.empty() || name.find_first_of("*?!") != std::string::npos) return;
    if (!names_.insert(name).second) return;
    if (fnmatch(pattern_.c_str(), name.c_str(), 0) != 0) return;
    if (CheckHost(name).ok()) {
      collector_.Add({"", name, std::nullopt}, {line, 1});
    } else {
      collector_.Warn(where + Quoted(name) +
                      " is left out: a resource spec cannot have such a host name");
    }
  }

  std::string NothingFound() const {
    std::string what = "no Host in it";
    if (!names_.empty()) what += " matches " + Quoted(pattern_) + "; it has ";
    size_t shown = 0;
    for (const std::string& name : names_) {
      if (shown == kNamesShown) return what + ", …";
      what += (shown++ == 0 ? "" : ", ") + Quoted(name);
    }
    return what;
  }

  std::string ssh_folder_;
  std::string home_;
  std::string pattern_;
  HostCollector collector_;
  std::set<std::string> names_;  // all that are no patterns
};

}  // namespace

HostList SshConfigHosts(const std::string& ssh_folder, const std::string& home,
                        const std::string& pattern) {
  return Config(ssh_folder, home, pattern).Read();
}

}  // namespace autodist::spec
