// Ranks whose connections are refused or not answered.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/judged_job.h"
#include "why/diagnosis.h"

namespace autodist::why {
namespace {

// A rank in this Python function of the rendezvous; "": without frames. `facts`: its own.
std::string ConnectingRank(const std::string& function, const std::string& facts,
                           const std::string& state = "sleeping in hrtimer_nanosleep") {
  std::string text = "process 100 (sleeping): python3 train.py\n  thread 100 (python3): " + state +
                     "\n    switched 100 times\n" + facts;
  if (function.empty()) return text + "  no user-space stacks: gdb is not installed\n";
  return text + "  user-space stacks by py-spy:\n    Thread 100 (idle): \"MainThread\"\n        " +
         function +
         " (/x/site-packages/torch/distributed/rendezvous.py:250)\n        init_process_group "
         "(/x/site-packages/torch/distributed/distributed_c10d.py:754)\n        <module> "
         "(/home/me/train.py:5)\n";
}

constexpr char kStore[] = "_create_c10d_store";

class ConnectionsTest : public JudgedJobTest {
 protected:
  ConnectionsTest() : JudgedJobTest(10'000, "10.0.0.") {
    known_.rendezvous = {"10.0.0.1", "29500"};
  }

  // `node`: facts about the node, in the second sample.
  void Rank(const std::string& now, const std::string& node = "") { AddRank(now, node + now); }
};

TEST_F(ConnectionsTest, AttemptsThatAreNotAnswered) {
  Rank(ConnectingRank("waitForWorkers", ""));
  for (int i = 0; i < 2; ++i) {
    Rank(ConnectingRank(kStore, "  connecting to 10.0.0.1:29500: sent again 3 times\n"));
  }
  EXPECT_EQ(Says(),
            "wrong: ranks 1-2 cannot connect to 10.0.0.1:29500: the attempts (SYN) are not "
            "answered");
  EXPECT_EQ(Judge(known_).issue().evidence(0).value(),
            "connects to 10.0.0.1:29500; the SYN was sent again 3 times");
}

TEST_F(ConnectionsTest, TheRankThatLooksElsewhere) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"connections to 127.0.0.1:12355: 3 refused\nconnections to [::1]:12355: 3 refused\n",
       "127.0.0.1:12355: the attempts are refused: no program listens there, or a firewall rejects "
       "them; autodist gave MASTER_ADDR=10.0.0.1 and MASTER_PORT=29500"},
      {"connections to 10.0.0.1:29501: 3 refused\n",
       "10.0.0.1:29501: the attempts are refused: no program listens there, or a firewall rejects "
       "them; autodist gave MASTER_ADDR=10.0.0.1 and MASTER_PORT=29500"},
      {"connections to 10.0.0.1:29500: 2 failed\n",
       "10.0.0.1:29500: the attempts are rejected on the way, or given up"},
  };
  Rank(ConnectingRank(kStore, ""));
  Rank(ConnectingRank(kStore, ""));
  for (const auto& [facts, says] : rows) {
    known_.stacks[1].set_text(facts + ConnectingRank(kStore, ""));
    EXPECT_EQ(Says(), "wrong: rank 1 (10.0.0.2) cannot connect to " + says);
  }
}

TEST_F(ConnectionsTest, FailedAttemptsAreOfAnyRankOfTheNode) {
  Rank(ConnectingRank(kStore, ""));
  for (int i = 0; i < 2; ++i) {
    Rank(ConnectingRank(kStore, ""), "connections to 127.0.0.1:12355: 3 refused\n");
  }
  EXPECT_EQ(Says().find("wrong: ranks 1-2 cannot connect"), 0U) << Says();
  known_.now.mutable_ranks(2)->set_node(1);
  EXPECT_EQ(Says().find("wrong: some of ranks 1-2 cannot connect"), 0U) << Says();
  EXPECT_EQ(Judge(known_).issue().ranks_size(), 0);
}

TEST_F(ConnectionsTest, WithoutFramesTheKernelKnowsIt) {
  Rank(ConnectingRank("", ""));
  Rank(ConnectingRank("", ""), "connections to 127.0.0.1:12355: 3 refused\n");
  EXPECT_EQ(Says().find("wrong: rank 1 (10.0.0.2) cannot connect to 127.0.0.1:12355"), 0U)
      << Says();
  // After the first steps, other programs of the node may be refused.
  known_.now.mutable_ranks(0)->mutable_progress()->set_step(7);
  EXPECT_EQ(Says().find("connect"), std::string::npos) << Says();
}

// It listens when it has imported its modules.
TEST_F(ConnectionsTest, TheFirstRankMayStillBeStarting) {
  Rank(ConnectingRank("", "", "running"));
  Rank(ConnectingRank(kStore, ""), "connections to 10.0.0.1:29500: 3 refused\n");
  EXPECT_EQ(Says().find("connect"), std::string::npos) << Says();
}

// It listens in init_process_group, and may wait for data or a lock before.
TEST_F(ConnectionsTest, TheFirstRankMayBeOnItsWay) {
  const std::string on_its_way =
      "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
      "hrtimer_nanosleep\n    switched 100 times\n  user-space stacks by py-spy:\n    Thread 100 "
      "(idle): \"MainThread\"\n        wait_for_data (/home/me/train.py:12)\n        <module> "
      "(/home/me/train.py:20)\n";
  Rank(on_its_way);
  Rank(ConnectingRank(kStore, ""), "connections to 10.0.0.1:29500: 3 refused\n");
  EXPECT_EQ(Says().find("connect"), std::string::npos) << Says();
  known_.stacks[1].set_text("connections to 127.0.0.1:29500: 3 refused\n" +
                            ConnectingRank(kStore, ""));
  EXPECT_NE(Says().find("cannot connect to 127.0.0.1:29500"), std::string::npos) << Says();
}

// For example for telemetry, in a cluster without a way out.
TEST_F(ConnectionsTest, ConnectionsOfOtherThreadsAndProgramsHoldNobodyUp) {
  constexpr char kTelemetry[] = "  connecting to 10.9.9.9:4317: sent again 5 times\n";
  constexpr char kRefusesOthers[] = "connections to 127.0.0.1:4317: 9 refused\n";
  const std::vector<std::string> rows = {
      "all_reduce (/x/site-packages/torch/distributed/distributed_c10d.py:2001)",
      "Connection._recv (/usr/lib/python3.11/multiprocessing/connection.py:395)",
      "load (/home/me/train.py:12)"};
  for (const std::string& frame : rows) {
    known_.now.clear_ranks();
    known_.now.clear_nodes();
    known_.stacks.clear();
    known_.stacks_earlier.clear();
    const std::string stack =
        ConnectingRank("", kTelemetry) +
        "  user-space stacks by py-spy:\n    Thread 100 (idle): \"MainThread\"\n        " + frame +
        "\n";
    for (int i = 0; i < 3; ++i) Rank(stack, kRefusesOthers);
    EXPECT_EQ(Says().find("connect to"), std::string::npos) << Says();
  }
}

// Nor is an address known to be the rank's without frames.
TEST_F(ConnectionsTest, WithoutFramesOnlyTheMeetingPlaceCounts) {
  const std::string service = "  connecting to 10.9.9.9:4317: sent again 5 times\n";
  for (int i = 0; i < 2; ++i) {
    Rank(ConnectingRank("", service), "connections to 10.9.9.9:443: 9 refused\n");
  }
  EXPECT_EQ(Says().find("connect to"), std::string::npos) << Says();
}

// A rank with an end of the connection to the next rank, and one of that to the rank before.
std::string InRing(int rank, int ranks, int switches = 100) {
  const auto end = [&](int one, const char* port) {
    return "10.0.0." + std::to_string((one + ranks) % ranks + 1) + ":" + port;
  };
  return "process 100 (sleeping): ./ring\n  thread 100 (ring): sleeping in sk_wait_data\n    file: "
         "socket to " +
         end(rank - 1, "4000") + "\n    switched " + std::to_string(switches) +
         " times\n  connected at " + end(rank, "4000") + " " + end(rank, "4001") +
         "\n  no user-space stacks: gdb is not installed\n";
}

TEST_F(ConnectionsTest, RanksThatWaitForEachOther) {
  for (int rank = 0; rank < 3; ++rank) Rank(InRing(rank, 3));
  EXPECT_EQ(Says(),
            "wrong: ranks 0-2 wait for each other at their sockets: rank 0 (10.0.0.1) for rank 2, "
            "rank 2 (10.0.0.3) for rank 1, rank 1 (10.0.0.2) for rank 0");
}

TEST_F(ConnectionsTest, ARankThatRunsBreaksTheCircle) {
  for (int rank = 0; rank < 2; ++rank) Rank(InRing(rank, 3));
  AddRank(InRing(2, 3), InRing(2, 3, 500));
  EXPECT_EQ(Says().find("wait for each other"), std::string::npos) << Says();
}

TEST_F(ConnectionsTest, ARankAtWorkMayBeAwaitedByTheCircle) {
  for (int rank = 0; rank < 2; ++rank) Rank(InRing(rank, 2));
  EXPECT_NE(Says().find("ranks 0-1 wait for each other"), std::string::npos) << Says();
  Rank(ConnectingRank("", "", "running"));
  EXPECT_EQ(Says().find("wait for each other"), std::string::npos) << Says();
}

// A thread of rank 0 answers rank 1 when another rank has set the key.
TEST_F(ConnectionsTest, TheStoreOfRankZeroIsNotRankZero) {
  const auto at = [](const std::string& to, const std::string& own) {
    return "process 100 (sleeping): ./a\n  thread 100 (a): sleeping in sk_wait_data\n    file: "
           "socket to " +
           to + "\n    switched 100 times\n  connected at " + own + "\n";
  };
  for (const char* port : {"29500", "4711"}) {
    known_.rendezvous.port = port;
    known_.now.clear_ranks();
    known_.now.clear_nodes();
    known_.stacks.clear();
    known_.stacks_earlier.clear();
    Rank(at("10.0.0.2:4000", "10.0.0.1:29500 10.0.0.1:4001"));
    Rank(at("10.0.0.1:29500", "10.0.0.2:4000"));
    const bool circle = Says().find("wait for each other") != std::string::npos;
    EXPECT_EQ(circle, known_.rendezvous.port != "29500") << Says();
  }
}

TEST_F(ConnectionsTest, ALocalAddressIsThatOfTheSameNode) {
  const auto at = [](const char* to, const char* own) {
    return "process 100 (sleeping): ./a\n  thread 100 (a): sleeping in sk_wait_data\n    file: "
           "socket to 127.0.0.1:" +
           std::string(to) + "\n    switched 100 times\n  connected at 127.0.0.1:" + own + "\n";
  };
  Rank(at("4000", "4001"));
  Rank(at("4001", "4000"));
  EXPECT_EQ(Says().find("wait for each other"), std::string::npos) << Says();
  known_.now.mutable_ranks(1)->set_node(0);
  EXPECT_NE(Says().find("wait for each other"), std::string::npos) << Says();
}

}  // namespace
}  // namespace autodist::why
