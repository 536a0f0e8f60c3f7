#include "agent/sample/send_queues.h"

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <sys/socket.h>

#include "agent/prepare/netlink.h"

namespace autodist::agent {
namespace {

void AddQueue(std::string_view message, SendQueues& queues) {
  const auto about = NetlinkValue<tcmsg>(message);
  // The root queue includes those below it.
  if (!about || about->tcm_parent != TC_H_ROOT) return;
  const std::string_view stats =
      NetlinkAttribute(message.substr(NetlinkAligned(sizeof *about)), TCA_STATS2);
  const auto queue = NetlinkValue<gnet_stats_queue>(NetlinkAttribute(stats, TCA_STATS_QUEUE));
  if (queue) queues[static_cast<unsigned>(about->tcm_ifindex)] = queue->backlog;
}

}  // namespace

bool AddSendQueues(std::string_view messages, SendQueues& queues) {
  return ReadNetlinkPart(messages, [&](uint16_t type, std::string_view message) {
    if (type == RTM_NEWQDISC) AddQueue(message, queues);
  });
}

SendQueueReader::SendQueueReader()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)),
      buffer_(kLargestNetlinkPart) {}

const SendQueues& SendQueueReader::Read() {
  queues_.clear();
  NetlinkDump<tcmsg> request(RTM_GETQDISC);
  request.about.tcm_family = AF_UNSPEC;
  if (!socket_.valid()) return queues_;
  AskNetlink(socket_.get(), request, buffer_,
             [this](std::string_view part) { return AddSendQueues(part, queues_); });
  return queues_;
}

}  // namespace autodist::agent
