#include "agent/stacks/nccl_ras.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/stacks/tcp_sockets.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "base/listen_address.h"
#include "base/parse_number.h"
#include "base/quantity.h"
#include "base/ranges.h"
#include "base/socket_address.h"
#include "base/utf8.h"

namespace autodist::agent {
namespace {

// Parses NCCL's answer in JSON, since 2.28.7.

using Json = nlohmann::json;

constexpr size_t kMaxNcclDepth = 8;        // of objects and arrays
constexpr size_t kMaxNcclRanks = 65'536;   // in all communicators
constexpr size_t kMaxNcclOperations = 64;  // kinds, of one rank
constexpr size_t kMaxNcclText = 200;       // bytes

// A rank of a communicator. Missing or wrong members are 0, "" and false.
struct NcclRank {
  uint64_t rank = 0;
  uint64_t pid = 0;
  std::string host;
  std::map<std::string, uint64_t> collectives;  // number by operation
  uint64_t async_error = 0;
  bool aborted = false;
  bool dead = false;
  bool unresponsive = false;

  // Formats its issues.
  std::string Issue() const {
    if (dead) return ", is taken for dead";
    if (unresponsive) return ", does not answer";
    return (async_error == 0 ? "" : ", asynchronous error " + std::to_string(async_error)) +
           (aborted ? ", aborted" : "");
  }
  std::string IssueLine(const std::string& issue) const {
    return "  rank " + std::to_string(rank) + " (process " + std::to_string(pid) + " on " + host +
           ")" + issue + "\n";
  }
};

struct NcclCommunicator {
  std::string hash;
  uint64_t size = 0;
  std::vector<NcclRank> ranks;
  std::vector<NcclRank> missing;
};

NcclView::Process ProcessOf(const NcclCommunicator& communicator, const NcclRank& rank) {
  NcclView::Process process;
  process.host = rank.host;
  GroupCount& count = process.count;
  count.source = "NCCL";
  count.pid = static_cast<pid_t>(rank.pid);
  count.group = communicator.hash;
  count.size = communicator.size;
  std::string text;
  for (const auto& [operation, number] : rank.collectives) {
    count.entered += number;
    text += (text.empty() ? "" : ", ") + operation + " " + std::to_string(number);
  }
  if (!text.empty()) count.what = {std::move(text)};
  return process;
}

void AddCommunicator(const NcclCommunicator& communicator, NcclView& view) {
  std::map<uint64_t, std::vector<uint64_t>> ranks;  // by number of entered collectives
  std::string issues;
  for (const NcclRank& rank : communicator.ranks) {
    NcclView::Process process = ProcessOf(communicator, rank);
    ranks[process.count.entered].push_back(rank.rank);
    if (!rank.Issue().empty()) issues += rank.IssueLine(rank.Issue());
    view.processes.push_back(std::move(process));
  }
  for (const NcclRank& rank : communicator.missing) {
    issues += rank.IssueLine(rank.Issue().empty() ? ", is missing" : rank.Issue());
  }
  view.summary +=
      "communicator " + communicator.hash + " of " + base::Count(communicator.size, "rank") + "\n";
  for (auto& [entered, whose] : ranks) {
    std::ranges::sort(whose);
    view.summary += "  " + base::Count(entered, "collective") + " entered by " +
                    (whose.size() == 1 ? "rank " : "ranks ") + base::RangesText(whose, ", ") + "\n";
  }
  view.summary += issues;
}

// Collects the communicators; ignores other values. Keeps no tree of the values, which would be
// large: the answer may come from any program of the job.
class NcclReader : public nlohmann::json_sax<Json> {
 public:
  explicit NcclReader(NcclView& view) : view_(view) {}

  std::string version;

  bool start_object(size_t) override { return Enter(); }
  bool start_array(size_t) override { return !paths_.empty() && Enter(); }
  bool end_array() override { return Leave(); }
  bool end_object() override {
    const std::string& path = paths_.back();
    if (path == kRanks) communicator_.ranks.push_back(std::exchange(rank_, {}));
    if (path == kMissing) communicator_.missing.push_back(std::exchange(rank_, {}));
    if (path == kRanks || path == kMissing) ++ranks_;
    if (path == kCommunicators) AddCommunicator(std::exchange(communicator_, {}), view_);
    return ranks_ <= kMaxNcclRanks && Leave();
  }
  bool key(string_t& name) override {
    key_ = name.substr(0, kMaxNcclText);
    return true;
  }
  bool null() override { return !paths_.empty(); }
  bool number_integer(number_integer_t) override { return !paths_.empty(); }
  bool number_float(number_float_t, const string_t&) override { return !paths_.empty(); }
  bool binary(binary_t&) override { return false; }
  bool number_unsigned(number_unsigned_t value) override {
    if (paths_.empty()) return false;
    const std::string& path = paths_.back();
    const bool of_rank = path == kRanks || path == kMissing;
    if (path == kCommunicators && key_ == "size") communicator_.size = value;
    if (of_rank && key_ == "rank") rank_.rank = value;
    if (of_rank && key_ == "pid") rank_.pid = value;
    if (path.ends_with("/status") && key_ == "async_error") rank_.async_error = value;
    const bool counts = path.ends_with("/collective_counts") && value > 0;
    if (counts && rank_.collectives.size() < kMaxNcclOperations) rank_.collectives[key_] = value;
    return true;
  }
  bool boolean(bool value) override {
    if (paths_.empty()) return false;
    if (!paths_.back().ends_with("/status")) return true;
    if (key_ == "abort_flag") rank_.aborted = value;
    if (key_ == "considered_dead") rank_.dead = value;
    if (key_ == "unresponsive") rank_.unresponsive = value;
    return true;
  }
  bool string(string_t& value) override {
    if (paths_.empty()) return false;
    const std::string& path = paths_.back();
    const std::string text = value.substr(0, kMaxNcclText);
    if (path.empty() && key_ == "nccl_version") version = text;
    if (path == kCommunicators && key_ == "hash") communicator_.hash = text;
    if ((path == kRanks || path == kMissing) && key_ == "host") rank_.host = text;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr char kCommunicators[] = "/communicators";
  static constexpr char kRanks[] = "/communicators/ranks";
  static constexpr char kMissing[] = "/communicators/missing_ranks";

  // Elements of an array have its path.
  bool Enter() {
    if (paths_.size() == kMaxNcclDepth) return false;
    paths_.push_back(paths_.empty() ? "" : paths_.back() + (key_.empty() ? "" : "/" + key_));
    key_.clear();
    return true;
  }
  bool Leave() {
    paths_.pop_back();
    key_.clear();
    return true;
  }

  NcclView& view_;
  std::vector<std::string> paths_;  // of the open objects and arrays
  std::string key_;                 // "": of an element
  NcclCommunicator communicator_;
  NcclRank rank_;
  size_t ranks_ = 0;
};

using base::Deadline;

constexpr size_t kMaxSummaryLength = 1 << 20;    // bytes
constexpr size_t kMaxJsonLength = 16 << 20;      // some 300 per rank of each communicator
constexpr size_t kLargestSocketTable = 8 << 20;  // of sockets; a line has 150
constexpr size_t kMaxLineLength = 1 << 10;       // of the lines before the answer

// Parses "127.0.0.1:28028", "[::1]:28028", or "localhost:28028", which has two addresses.
std::vector<base::ListenAddress> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = base::ParseNumber<uint16_t>(std::string_view(text).substr(colon + 1));
  if (port.value_or(0) == 0) return {};
  std::vector<base::ListenAddress> addresses;
  for (const std::string& name :
       host == "localhost" ? std::vector<std::string>{"127.0.0.1", "::1"} : std::vector{host}) {
    const auto address = base::IpAddress::Parse(name);
    if (address) addresses.push_back({*address, *port});
  }
  return addresses;
}

class RasConnection {
 public:
  explicit RasConnection(Deadline deadline) : deadline_(deadline) {}

  // Sends `ask`, and returns whether the response line begins with `expected`.
  bool Ask(std::string_view ask, std::string_view expected) {
    if (!base::WriteAll(fd_.get(), ask, deadline_).ok()) return false;
    size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      if (received_.size() > kMaxLineLength || !Receive()) return false;
    }
    const bool as_expected = received_.starts_with(expected);
    received_.erase(0, end + 1);
    return as_expected;
  }

  std::string AskForAll(std::string_view ask, size_t most) {
    if (!base::WriteAll(fd_.get(), ask, deadline_).ok()) return "";
    while (received_.size() < most && Receive()) continue;
    received_.resize(std::min(received_.size(), most));
    return std::move(received_);
  }

  // The first write waits for the connection. Fails unless `to` is an address of this machine.
  bool Begin(const base::ListenAddress& to) {
    const base::SocketAddress own(to.ip, 0);
    const base::SocketAddress peer(to.ip, to.port);
    fd_.Reset(socket(own.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 bound{};  // the port is at the same offset as in a sockaddr_in
    socklen_t length = sizeof bound;
    if (!fd_.valid() || bind(fd_.get(), own.get(), own.length()) != 0) return false;
    if (connect(fd_.get(), peer.get(), peer.length()) != 0 && errno != EINPROGRESS) return false;
    if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) return false;
    peer_ = to.ToString();
    own_ = base::ListenAddress{to.ip, ntohs(bound.sin6_port)}.ToString();
    return true;
  }

  // Whether one of these processes has accepted the connection; another user's may listen there.
  bool IsWith(const std::vector<pid_t>& processes) const {
    for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
      const auto socket =
          InodeIn(base::ReadFile(table, kLargestSocketTable).value_or(""), peer_, own_);
      if (!socket) continue;
      return std::ranges::any_of(processes, [&](pid_t pid) {
        return SocketsOf("/proc/" + std::to_string(pid) + "/fd").contains(*socket);
      });
    }
    return false;
  }

 private:
  // Returns false at the end, and at the deadline.
  bool Receive() {
    std::array<char, 65536> buffer;
    const auto got = base::ReadSome(fd_.get(), buffer.data(), buffer.size(), deadline_);
    if (!got.ok() || *got == 0) return false;
    received_.append(buffer.data(), *got);
    return true;
  }

  Deadline deadline_;
  base::UniqueFd fd_;
  std::string own_;  // "127.0.0.1:51714", of this end
  std::string peer_;
  std::string received_;
};

NcclView AskAt(const base::ListenAddress& to, const std::vector<pid_t>& processes,
               Deadline deadline) {
  RasConnection connection(deadline);
  if (!connection.Begin(to)) return {};
  if (!connection.Ask("CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ")) return {};
  if (!connection.IsWith(processes)) return {};
  // Sets how many seconds NCCL waits for unresponsive processes.
  if (!connection.Ask("TIMEOUT 3\n", "OK")) return {};
  if (connection.Ask("SET FORMAT json\n", "OK")) {
    return ReadNcclJson(connection.AskForAll("STATUS\n", kMaxJsonLength)).value_or(NcclView());
  }
  const std::string summary =
      base::PrintableLines(connection.AskForAll("STATUS\n", kMaxSummaryLength));
  return {.summary = summary.empty() || summary.ends_with('\n') ? summary : summary + "\n",
          .processes = {}};
}

}  // namespace

Result<NcclView> ReadNcclJson(std::string_view json) {
  NcclView view;
  NcclReader reader(view);
  if (!Json::sax_parse(json, &reader)) {
    return Error(StatusCode::kDataLoss, "NCCL's answer is not the expected JSON");
  }
  view.summary = base::PrintableLines("NCCL " + reader.version + "\n" + view.summary);
  return view;
}

std::vector<std::string> NcclRasEndpoints(const std::string& address) {
  std::vector<std::string> endpoints;
  for (const base::ListenAddress& to : ParseAddress(address)) endpoints.push_back(to.ToString());
  return endpoints;
}

NcclView AskNccl(const std::string& address, const std::vector<pid_t>& processes,
                 Deadline deadline) {
  for (const base::ListenAddress& to : ParseAddress(address)) {
    NcclView view = AskAt(to, processes, deadline);
    if (!view.summary.empty()) return view;
  }
  return {};
}

}  // namespace autodist::agent
