#include "agent/stacks/tcp_sockets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n"
    "   0: 0100007F:1388 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 "
    "1 "
    "0000000000000000 100 0 0 10 0\n"
    "   1: 0200000A:C001 0700000A:1388 01 00000004:00000000 01:000000A1 0000000B     0        0 12 "
    "3 "
    "0000000000000000 100 0 0 10 0\n";
constexpr char kTable6[] =
    "   0: 000077FD000000000000000001000000:C001 000077FD000000000000000007000000:0050 01 "
    "00000000:00000000 00:00000000 00000000     0        0 13 1 0\n";

TEST(TcpPeerTest, IsFoundByTheInodeOfTheSocket) {
  const auto peer = PeerIn(kTable, "12");
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->address, "10.0.0.7:5000");
  EXPECT_EQ(peer->sent_again, 11u);
  const auto peer6 = PeerIn(kTable6, "13");
  ASSERT_TRUE(peer6);
  EXPECT_EQ(peer6->sent_again, 0u);
  EXPECT_EQ(peer6->address, "[fd77::7]:80");
}

TEST(TcpPeerTest, AListenerHasNoPeer) {
  EXPECT_FALSE(PeerIn(kTable, "11"));
  EXPECT_FALSE(PeerIn(kTable, "14"));
  EXPECT_FALSE(PeerIn("", "11"));
  EXPECT_FALSE(PeerIn("1 2 x 4 5 6 7 8 9 11\n", "11"));
  EXPECT_EQ(SocketTables().Describe("/proc/self", "socket:[x]"), "socket:[x]");
  EXPECT_EQ(SocketTables().Describe("/proc/self", "pipe:[1]"), "pipe:[1]");
}

TEST(TcpPeerTest, TablesAreReadOnce) {
  const test::TempFolder folder;
  std::filesystem::create_directory(folder.path() + "/net");
  folder.Write("net/tcp", kTable);
  folder.Write("net/tcp6", kTable6);
  SocketTables tables;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tables.Describe(folder.path(), "socket:[12]"),
              "socket to 10.0.0.7:5000, sent again 11 times");
    EXPECT_EQ(tables.Describe(folder.path(), "socket:[13]"), "socket to [fd77::7]:80");
    for (const char* table : {"net/tcp", "net/tcp6"}) folder.Write(table, "");
  }
  EXPECT_EQ(SocketTables().Describe(folder.path(), "socket:[12]"), "socket:[12]");
}

TEST(TcpPeerTest, PortsThatCannotBeOpenedAreThoseOfListenersAndOfTimeWait) {
  PortUses uses;
  AddPortUses(kTable, uses);
  AddPortUses(kTable6, uses);
  AddPortUses("   2: 0200000A:5BA0 0700000A:C002 06 0 0 0 0 0 0 3 0\n   3: 0200000A 0 06\n", uses);
  for (const auto& [inode, port] : uses.listeners) EXPECT_EQ(port, 5000) << inode;
  EXPECT_FALSE(uses.listeners.empty());
  EXPECT_EQ(uses.closing, std::set<uint16_t>{23456});
}

// The kernel has answered for the program.
TEST(TcpPeerTest, AConnectionThatNoProgramHasAccepted) {
  const std::string client =
      "   0: 0100007F:C001 0100007F:1388 01 00000000:00000000 00:00000000 00000000     0        0 "
      "12 1 0\n";
  const auto server = [](const std::string& inode) {
    return "   1: 0100007F:1388 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0      "
           "  0 " +
           inode + " 1 0\n";
  };
  EXPECT_TRUE(PeerIn(client + server("0"), "12")->unaccepted);
  EXPECT_FALSE(PeerIn(client + server("13"), "12")->unaccepted);
  EXPECT_FALSE(PeerIn(client, "12")->unaccepted);
}

TEST(TcpPeerTest, TheInodeIsFoundByBothAddresses) {
  EXPECT_EQ(InodeIn(kTable, "10.0.0.2:49153", "10.0.0.7:5000"), 12U);
  EXPECT_EQ(InodeIn(kTable6, "[fd77::1]:49153", "[fd77::7]:80"), 13U);
  EXPECT_EQ(
      InodeIn("0: 0000000000000000FFFF00000100007F:6D7C 0000000000000000FFFF00000100007F:0007 "
              "01 0 0 0 1000 0 14\n",
              "127.0.0.1:28028", "127.0.0.1:7"),
      14U);
  EXPECT_FALSE(InodeIn(kTable, "10.0.0.7:5000", "10.0.0.2:49153"));
}

}  // namespace
}  // namespace autodist::agent
