#include "agent/sample/send_queues.h"

#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace autodist::agent {
namespace {

constexpr size_t kLargestAnswer = 64 << 10;  // bytes of a part of it; the kernel's are 32 KiB
constexpr int kMostParts = 1'000;

size_t Aligned(size_t size) { return (size + NLMSG_ALIGNTO - 1) & ~size_t{NLMSG_ALIGNTO - 1}; }

// A value with a header of its own, which begins with its size in both kinds of header.
template <typename Header>
std::optional<Header> HeaderAt(std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// The value of the first attribute of this type; empty: there is none.
std::string_view Attribute(std::string_view attributes, int type) {
  while (const auto header = HeaderAt<rtattr>(attributes)) {
    if (header->rta_len < sizeof *header || header->rta_len > attributes.size()) return {};
    if ((header->rta_type & NLA_TYPE_MASK) == type) {
      return attributes.substr(sizeof *header, header->rta_len - sizeof *header);
    }
    attributes.remove_prefix(std::min(Aligned(header->rta_len), attributes.size()));
  }
  return {};
}

void AddQueue(std::string_view message, SendQueues& queues) {
  const auto about = HeaderAt<tcmsg>(message);
  // The root has what those below it have, too.
  if (!about || about->tcm_parent != TC_H_ROOT) return;
  const std::string_view stats = Attribute(message.substr(Aligned(sizeof *about)), TCA_STATS2);
  const auto queue = HeaderAt<gnet_stats_queue>(Attribute(stats, TCA_STATS_QUEUE));
  if (queue) queues[static_cast<unsigned>(about->tcm_ifindex)] = queue->backlog;
}

}  // namespace

bool AddSendQueues(std::string_view messages, SendQueues& queues) {
  while (const auto header = HeaderAt<nlmsghdr>(messages)) {
    if (header->nlmsg_len < sizeof *header || header->nlmsg_len > messages.size()) return true;
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) return true;
    if (header->nlmsg_type == RTM_NEWQDISC) {
      AddQueue(messages.substr(Aligned(sizeof *header), header->nlmsg_len - sizeof *header),
               queues);
    }
    messages.remove_prefix(std::min(Aligned(header->nlmsg_len), messages.size()));
  }
  return false;
}

SendQueueReader::SendQueueReader()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)),
      buffer_(kLargestAnswer) {}

// The kernel answers within the calls: there is nothing to wait for.
const SendQueues& SendQueueReader::Read() {
  queues_.clear();
  struct {
    nlmsghdr header;
    tcmsg about;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETQDISC;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.about.tcm_family = AF_UNSPEC;
  if (!socket_.valid() || send(socket_.get(), &request, sizeof request, 0) < 0) return queues_;
  for (int i = 0; i < kMostParts; ++i) {
    const ssize_t got = recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
    if (got <= 0) break;
    if (AddSendQueues({buffer_.data(), static_cast<size_t>(got)}, queues_)) break;
  }
  return queues_;
}

}  // namespace autodist::agent
