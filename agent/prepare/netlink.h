// Reads the kernel's answers through netlink(7).
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace autodist::agent {

inline size_t NetlinkAligned(size_t size) {
  return (size + NLMSG_ALIGNTO - 1) & ~size_t{NLMSG_ALIGNTO - 1};
}

// Reads a value from the beginning of the bytes; nullopt: too few bytes.
template <typename Value>
std::optional<Value> NetlinkValue(std::string_view bytes) {
  Value value;
  if (bytes.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Returns the content of the first attribute of this type; empty: missing.
inline std::string_view NetlinkAttribute(std::string_view attributes, int type) {
  while (const auto header = NetlinkValue<rtattr>(attributes)) {
    if (header->rta_len < sizeof *header || header->rta_len > attributes.size()) return {};
    if ((header->rta_type & NLA_TYPE_MASK) == type) {
      return attributes.substr(sizeof *header, header->rta_len - sizeof *header);
    }
    attributes.remove_prefix(std::min(NetlinkAligned(header->rta_len), attributes.size()));
  }
  return {};
}

// Calls `take` with the type and the content of each message in a part of an answer; returns true
// if it is the last part, or invalid.
template <typename Take>
bool ReadNetlinkPart(std::string_view messages, const Take& take) {
  while (const auto header = NetlinkValue<nlmsghdr>(messages)) {
    if (header->nlmsg_len < sizeof *header || header->nlmsg_len > messages.size()) return true;
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return true;
    take(header->nlmsg_type, messages.substr(sizeof *header, header->nlmsg_len - sizeof *header));
    messages.remove_prefix(std::min(NetlinkAligned(header->nlmsg_len), messages.size()));
  }
  return false;
}

// A request for all objects of a kind.
template <typename About>
struct NetlinkDump {
  explicit NetlinkDump(uint16_t type) {
    header.nlmsg_len = sizeof *this;
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  }

  nlmsghdr header{};
  About about{};
};

inline constexpr size_t kLargestNetlinkPart = 64 << 10;  // the kernel's are 32 KiB

// Sends the request, and calls `is_last` with each part of the answer until it is the last one. The
// kernel answers within the calls, so they do not wait.
template <typename Request, typename IsLast>
void AskNetlink(int socket, const Request& request, std::vector<char>& buffer,
                const IsLast& is_last) {
  constexpr int kMaxParts = 10'000;
  if (send(socket, &request, sizeof request, 0) < 0) return;
  for (int i = 0; i < kMaxParts; ++i) {
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0 || is_last(std::string_view(buffer.data(), static_cast<size_t>(got)))) return;
  }
}

}  // namespace autodist::agent
