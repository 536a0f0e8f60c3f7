#include "reach/name_service.h"

#include <absl/strings/str_split.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <sstream>
#include <utility>

#include "base/home_folder.h"
#include "base/name_service.h"
#include "base/thread.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

constexpr std::chrono::seconds kUserLimit{10};
constexpr size_t kLargestAnswer = 1 << 20;  // bytes

using Addresses = std::vector<base::IpAddress>;

// Returns "" if the program is missing, or finds nothing in time.
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

// Blocks for as long as the name service does.
Result<Addresses> Ask(const std::string& host, base::Deadline deadline) {
  Result<Addresses> addresses = base::AddressesOf(host);
  if (addresses.ok()) return addresses;
  // RFC 6761: resolved independently of the name service.
  if (host == "localhost") return Addresses{*base::IpAddress::Parse("127.0.0.1")};
  Addresses others = AskGetentForHost(host, deadline);
  if (!others.empty()) return others;
  return addresses;
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

Addresses AskGetentForHost(const std::string& host, base::Deadline deadline) {
  Addresses addresses;
  std::istringstream lines(Getent("ahosts", host, deadline));
  for (std::string line; std::getline(lines, line);) {
    // "192.0.2.7 STREAM gpu7", the same for each kind of socket.
    const auto ip = base::IpAddress::Parse(line.substr(0, line.find(' ')));
    if (ip && std::ranges::find(addresses, *ip) == addresses.end()) addresses.push_back(*ip);
  }
  return addresses;
}

Result<Addresses> LookUp(const std::string& host, base::Deadline deadline) {
  if (const auto numeric = base::IpAddress::Parse(host)) return Addresses{*numeric};
  const Status unanswered =
      Error(StatusCode::kDeadlineExceeded,
            "name does not resolve: '" + host + "': the name service does not answer");
  if (deadline.Expired()) return unanswered;  // otherwise another thread would remain
  std::promise<Result<Addresses>> promise;
  auto answer = promise.get_future();
  // getaddrinfo has no timeout and cannot be cancelled.
  auto thread = base::StartThread([host, deadline, promise = std::move(promise)]() mutable {
    promise.set_value(Ask(host, deadline));
  });
  if (!thread.ok()) return Annotate(thread.status(), "name does not resolve: '" + host + "'");
  thread->detach();
  if (answer.wait_until(deadline.when()) == std::future_status::ready) return answer.get();
  return unanswered;
}

std::string SshHomeFolder() {
  const std::string& home = ThisSystemUser().home;
  return home.empty() ? base::HomeFolder() : home;
}

}  // namespace autodist::reach
