#include "agent/life/connecting.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>

#include "base/ip_address.h"
#include "base/tcp_connect.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kNextAddress{250};     // before the next attempt starts
constexpr milliseconds kConnectLimit{5'000};  // per attempt
constexpr milliseconds kLookupLimit{15'000};  // per name

}  // namespace

std::optional<ChiefAddress> ChiefAddress::Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  uint32_t port = 0;
  if (colon == text.npos || colon == 0 || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
      port == 0 || port > 65'535) {
    return std::nullopt;
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return ChiefAddress{std::move(host), static_cast<uint16_t>(port)};
}

std::vector<ChiefAddress> WithoutOurs(std::vector<ChiefAddress> addresses) {
  const auto interfaces = base::LocalInterfaces();
  const auto is_ours = [&](const ChiefAddress& address) {
    const auto numeric = base::IpAddress::Parse(address.host);
    return numeric && interfaces.ok() && base::OwnerOf(*numeric, *interfaces);
  };
  if (!std::ranges::all_of(addresses, is_ours)) std::erase_if(addresses, is_ours);
  return addresses;
}

Connecting::Connecting(const std::vector<ChiefAddress>& addresses)
    : begin_next_(Deadline::After(milliseconds(0))) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    to_begin_.push_back({i, addresses[i].host, addresses[i].port});
  }
}

std::optional<Connecting::Connected> Connecting::Advance() {
  TakeLookups();
  for (auto attempt = attempts_.begin(); attempt != attempts_.end();) {
    const int result = base::ConnectResult(attempt->socket.get());
    if (result == 0) {
      Connected connected{attempt->address, std::move(attempt->socket)};
      attempts_.erase(attempt);
      return connected;
    }
    const bool under_way = result == EINPROGRESS && !attempt->deadline.Expired();
    attempt = under_way ? std::next(attempt) : attempts_.erase(attempt);
  }
  const bool idle = attempts_.empty() && lookups_.empty();
  if (!to_begin_.empty() && (idle || begin_next_.Expired())) Begin();
  return std::nullopt;
}

// Their addresses precede others that have not started.
void Connecting::TakeLookups() {
  for (auto at = lookups_.begin(); at != lookups_.end();) {
    if (!at->lookup.over() && !at->deadline.Expired()) {
      ++at;
      continue;
    }
    std::vector<base::IpAddress> found = at->lookup.Addresses();
    for (auto address = found.rbegin(); address != found.rend(); ++address) {
      to_begin_.push_front({at->of.address, address->ToString(), at->of.port});
    }
    if (!found.empty()) begin_next_ = Deadline::After(milliseconds(0));
    at = lookups_.erase(at);
  }
}

void Connecting::Begin() {
  const ToBegin first = std::move(to_begin_.front());
  to_begin_.pop_front();
  begin_next_ = Deadline::After(kNextAddress);
  const auto numeric = base::IpAddress::Parse(first.host);
  if (!numeric) {
    lookups_.push_back({first, HostLookup(first.host), Deadline::After(kLookupLimit)});
    return;
  }
  auto connecting = base::StartConnecting(*numeric, first.port);
  if (std::holds_alternative<int>(connecting)) {
    begin_next_ = Deadline::After(milliseconds(0));
    return;
  }
  attempts_.push_back({first.address, std::get<base::UniqueFd>(std::move(connecting)),
                       Deadline::After(kConnectLimit)});
}

std::vector<pollfd> Connecting::Polled() const {
  std::vector<pollfd> polled;
  for (const Lookup& lookup : lookups_) polled.push_back({lookup.lookup.fd(), POLLIN, 0});
  for (const Attempt& attempt : attempts_) polled.push_back({attempt.socket.get(), POLLOUT, 0});
  return polled;
}

Deadline Connecting::next() const {
  Deadline next = to_begin_.empty() ? Deadline::Never() : begin_next_;
  if (attempts_.empty() && lookups_.empty() && !to_begin_.empty()) {
    next = Deadline::After(milliseconds(0));
  }
  for (const Lookup& lookup : lookups_) {
    next =
        std::min(next, lookup.lookup.over() ? Deadline::After(milliseconds(0)) : lookup.deadline);
  }
  for (const Attempt& attempt : attempts_) next = std::min(next, attempt.deadline);
  return next;
}

}  // namespace autodist::agent
