#include "agent/sample/network.h"

#include <gtest/gtest.h>
#include <linux/gen_stats.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <string>

namespace autodist::agent {
namespace {

template <typename Value>
std::string Bytes(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string Attribute(uint16_t type, const std::string& value) {
  rtattr header{};
  header.rta_len = static_cast<uint16_t>(sizeof header + value.size());
  header.rta_type = type;
  std::string text = Bytes(header) + value;
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

std::string Message(uint16_t type, const std::string& content) {
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + content.size());
  header.nlmsg_type = type;
  return Bytes(header) + content;
}

std::string Queue(int interface, uint32_t parent, uint32_t bytes) {
  tcmsg about{};
  about.tcm_ifindex = interface;
  about.tcm_parent = parent;
  gnet_stats_queue queue{};
  queue.backlog = bytes;
  return Message(RTM_NEWQDISC, Bytes(about) + Attribute(TCA_KIND, "tbf") +
                                   Attribute(TCA_STATS2 | NLA_F_NESTED,
                                             Attribute(TCA_STATS_BASIC, "x") +
                                                 Attribute(TCA_STATS_QUEUE, Bytes(queue))));
}

TEST(SendQueuesTest, TheRootQdiscOfAnInterfaceCounts) {
  SendQueues queues;
  EXPECT_FALSE(AddSendQueues(Queue(2, TC_H_ROOT, 5'000) + Queue(2, 0x10001, 700), queues));
  EXPECT_TRUE(AddSendQueues(Queue(7, TC_H_ROOT, 0) + Message(NLMSG_DONE, "    "), queues));
  EXPECT_EQ(queues, (SendQueues{{2, 5'000}, {7, 0}}));
}

TEST(SendQueuesTest, TruncationOrAnErrorEndsParsing) {
  const std::string whole = Queue(2, TC_H_ROOT, 5'000);
  for (size_t size = 0; size < whole.size(); ++size) {
    SendQueues queues;
    AddSendQueues(whole.substr(0, size), queues);
    EXPECT_TRUE(queues.empty()) << size;
  }
  SendQueues queues;
  EXPECT_TRUE(AddSendQueues(Message(NLMSG_ERROR, std::string(20, '\0')) + whole, queues));
  EXPECT_TRUE(queues.empty());
}

TEST(SendQueuesTest, TheKernelAnswersRepeatedly) {
  SendQueueReader reader;
  const SendQueues first = reader.Read();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reader.Read().size(), first.size());
}

}  // namespace
}  // namespace autodist::agent
