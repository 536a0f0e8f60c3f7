#include "reach/name_service.h"

#include <absl/strings/str_split.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "base/home_folder.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

constexpr std::chrono::seconds kUserLimit{10};
constexpr size_t kLargestAnswer = 1 << 20;  // bytes

// "" if there is no such program, or it finds nothing in time.
std::string Getent(const std::string& database, const std::string& key, base::Deadline deadline) {
  if (key.starts_with('-')) return "";
  const auto program = transport::StartOurProgram({"getent", database, key});
  if (!program.ok()) return "";
  return transport::OutputOf(**program, deadline, kLargestAnswer).value_or("");
}

SystemUser FindThisUser() {
  const uid_t uid = geteuid();
  if (const passwd* entry = getpwuid(uid)) return {entry->pw_name, entry->pw_dir};
  // name:password:uid:gid:comment:home:shell
  const std::string line = Getent("passwd", std::to_string(uid), base::Deadline::After(kUserLimit));
  const std::vector<std::string> fields = absl::StrSplit(line, ':');
  constexpr size_t kHome = 5;
  return fields.size() > kHome ? SystemUser{fields[0], fields[kHome]} : SystemUser{};
}

}  // namespace

const SystemUser& ThisSystemUser() {
  static const SystemUser user = FindThisUser();
  return user;
}

bool IsGroupOfThisUser(gid_t group) {
  const std::string& user = ThisSystemUser().name;
  if (user.empty()) return false;
  // name:password:gid:members
  std::string line = Getent("group", std::to_string(group), base::Deadline::After(kUserLimit));
  while (line.ends_with('\n')) line.pop_back();
  const std::vector<std::string> fields = absl::StrSplit(line, ':');
  constexpr size_t kMembers = 3;
  return fields.size() == kMembers + 1 && fields[0] == user &&
         (fields[kMembers].empty() || fields[kMembers] == user);
}

std::vector<base::IpAddress> AskGetentForHost(const std::string& host, base::Deadline deadline) {
  std::vector<base::IpAddress> addresses;
  std::istringstream lines(Getent("ahosts", host, deadline));
  for (std::string line; std::getline(lines, line);) {
    // "192.0.2.7 STREAM gpu7", the same for each kind of socket.
    const auto ip = base::IpAddress::Parse(line.substr(0, line.find(' ')));
    if (ip && std::ranges::find(addresses, *ip) == addresses.end()) addresses.push_back(*ip);
  }
  return addresses;
}

std::string SshHomeFolder() {
  const std::string& home = ThisSystemUser().home;
  return home.empty() ? base::HomeFolder() : home;
}

}  // namespace autodist::reach
