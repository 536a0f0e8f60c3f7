// Ranks on GPUs, whose main threads look the same everywhere; the libraries' counts distinguish
// them.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "support/judged_job.h"
#include "why/diagnosis.h"

namespace autodist::why {
namespace {

constexpr char kComputes[] = "running";
constexpr char kSleeps[] = "sleeping in hrtimer_nanosleep, system call 230";

std::string Process(int rank, const std::string& state) {
  const std::string pid = std::to_string(100 + rank);
  return "process " + pid + " (sleeping): python3 train.py\n  thread " + pid +
         " (python3): " + state + "\n    switched 7 times\n";
}

class GroupCountsTest : public JudgedJobTest {
 protected:
  GroupCountsTest() : JudgedJobTest(60'000) {}

  void Looks(const std::string& earlier, const std::string& now) {
    AddRank(earlier, now).add_gpus(0);
  }

  // `counts` in both samples, unless `earlier` is given for the first.
  void Rank(const std::string& counts, const std::string& state = kComputes,
            const std::optional<std::string>& earlier = {}) {
    const std::string process = Process(known_.now.ranks_size(), state);
    Looks(earlier.value_or(counts) + process, counts + process);
  }

  static std::string Nccl(int rank, const std::string& group, int entered) {
    return "counted by NCCL for process " + std::to_string(100 + rank) + ": group " + group +
           " of 4: " + std::to_string(entered) + " entered; AllReduce " + std::to_string(entered) +
           "\n";
  }
  static std::string Recorded(int entered, const std::string& what) {
    return "counted by its flight recorder: group default_pg of 4: " + std::to_string(entered) +
           " entered, 16 ended; " + what + "\n";
  }
};

TEST_F(GroupCountsTest, TheRankThatIsBehindIsNamed) {
  for (const int rank : {0, 1}) Rank(Nccl(rank, "0x1f", 17));
  Rank(Nccl(2, "0x1f", 16), kSleeps);
  Rank(Nccl(3, "0x1f", 17));
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3, GPU 0) has entered 16 collectives of group 0x1f, the 3 others "
            "17; it sleeps");
}

TEST_F(GroupCountsTest, CountsOfAnotherProcessAreNotTheRanks) {
  for (const int rank : {0, 1, 3}) Rank(Nccl(rank + 50, "0x1f", rank));
  EXPECT_EQ(Says().find("group"), std::string::npos);
}

TEST_F(GroupCountsTest, ARankThatWaitsForAnotherIsNotBlamed) {
  // Rank 3 has not reached 1, which therefore has not reached 0.
  Rank(Nccl(0, "0xa", 5), kSleeps);
  Rank(Nccl(1, "0xa", 4) + Nccl(1, "0xb", 9), kSleeps);
  Rank(Nccl(2, "0xa", 5), kSleeps);
  Rank(Nccl(3, "0xb", 8), kSleeps);
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered 8 collectives of group 0xb, the other rank "
            "9; it sleeps");
}

TEST_F(GroupCountsTest, AWorkingRankThatIsBehindIsNotBlamed) {
  for (const int rank : {0, 1}) Rank(Nccl(rank, "0x1f", 17));
  Rank(Nccl(2, "0x1f", 16), kComputes);
  EXPECT_FALSE(Says().starts_with("wrong: ")) << Says();
}

// After PyTorch's timeout on a GPU, all except the awaited rank spin in CUDA.
TEST_F(GroupCountsTest, TheRankThatOthersTimedOutOnIsBehind) {
  Rank(Recorded(21, "all_reduce of [4]"));
  Rank(Recorded(20, "all_reduce of [4]"));
  Rank(Recorded(21, "all_reduce of [4]"));
  known_.stacks_earlier.clear();
  known_.stalled = true;
  EXPECT_EQ(WhoIsMissing(known_),
            "rank 1 (host2, GPU 0) has entered 20 collectives of group default_pg, the 2 others "
            "21; it computes");
}

TEST_F(GroupCountsTest, ARankThatComputesOnAGpuMayWaitForIt) {
  Rank("", kComputes);
  Rank("", kSleeps);
  Rank("", kComputes);
  known_.stacks_earlier.clear();
  known_.stalled = true;
  EXPECT_EQ(WhoIsMissing(known_), "rank 1 (host2, GPU 0) sleeps");
}

TEST_F(GroupCountsTest, RisingCountsAreFromDifferentMoments) {
  Rank(Nccl(0, "0x1f", 17), kSleeps);
  Rank(Nccl(1, "0x1f", 16), kSleeps, Nccl(1, "0x1f", 3));
  EXPECT_EQ(Says().find("group"), std::string::npos) << Says();
}

TEST_F(GroupCountsTest, ARankInAnotherOperationIsNamed) {
  for (int rank = 0; rank < 3; ++rank) Rank(Recorded(17, "all_reduce of [4]"));
  Rank(Recorded(17, "all_reduce of [5]"));
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered all_reduce of [5] as collective 17 of group "
            "default_pg, the 3 others all_reduce of [4]");
}

// Data of PyTorch 2.11 with NCCL 2.28.9 on a GPU.
TEST_F(GroupCountsTest, TheFlightRecorderNamesTheOperationThatNcclCounts) {
  for (int rank = 0; rank < 3; ++rank) {
    Rank(Recorded(25, "all_reduce of [4]") + Nccl(rank, "0x1f", 25));
  }
  Rank(Recorded(25, "all_gather") +
       "counted by NCCL for process 103: group 0x1f of 4: 25 entered; AllGather 1, AllReduce 24\n");
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered all_gather as collective 25 of group "
            "default_pg, the 3 others all_reduce of [4]");
}

// With wrong results, until their sizes differ.
TEST_F(GroupCountsTest, DifferingRanksMayContinueForAWhile) {
  Rank(Recorded(30,
                "all_reduce of [4] < all_reduce of [4] < all_reduce of [4] < all_reduce of [4]"));
  Rank(Recorded(28, "all_reduce of [4] < all_gather < all_reduce of [4]"));
  Rank(Recorded(31,
                "all_reduce of [4] < all_reduce of [4] < all_reduce of [4] < all_reduce of [4] < "
                "all_reduce of [4] < all_reduce of [4]"));
  EXPECT_EQ(Says(),
            "wrong: rank 1 (host2, GPU 0) has entered all_gather as collective 27 of group "
            "default_pg, the 2 others all_reduce of [4]");
}

TEST_F(GroupCountsTest, OfTwoDifferingRanksNeitherIsBlamed) {
  Rank(Recorded(17, "all_reduce of [4]"));
  Rank(Recorded(17, "all_reduce of [5]"));
  EXPECT_EQ(Says(),
            "wrong: ranks 0-1 have entered different operations as collective 17 of group "
            "default_pg: all_reduce of [4], all_reduce of [5]");
}

TEST_F(GroupCountsTest, NcclAloneDistinguishesKindsOfOperations) {
  for (int rank = 0; rank < 3; ++rank) Rank(Nccl(rank, "0x1f", 25));
  Rank("counted by NCCL for process 103: group 0x1f of 4: 25 entered; AllGather 1, AllReduce 24\n");
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered AllGather 1, AllReduce 24 among 25 "
            "collectives of group 0x1f, the 3 others AllReduce 25");
}

// Ranks write their records once, with the age of the operation.
TEST_F(GroupCountsTest, AFlightRecordHasTheAgeOfTheOperation) {
  const auto record = [](int entered, int ago_ms) {
    return "counted by its flight recorder: group default_pg of 2: " + std::to_string(entered) +
           " entered, 15 ended, the last " + std::to_string(ago_ms) + " ms ago; all_reduce\n";
  };
  Rank(record(17, 5'012), kComputes, "");
  Rank(record(16, 5'100), kSleeps, "");
  EXPECT_EQ(
      Says(),
      "wrong: rank 1 (host2, GPU 0) has entered 16 collectives of group default_pg, the other "
      "rank 17; it sleeps");
  Rank(record(18, 120), kComputes, "");
  EXPECT_EQ(Says().find("group"), std::string::npos) << Says();
}

TEST_F(GroupCountsTest, InvalidLinesAreIgnored) {
  for (const char* line :
       {"counted by \n", "counted by x: group \n", "counted by x: group y: z\n",
        "counted by x: group y: 99999999999999999999999 entered\n",
        "counted by: group: 1 entered\n", "counted by x: group y: 1 entered; a < b < c\n",
        "counted by x: group y: 1 entered, the last one ago\n"}) {
    Rank(line, kSleeps);
  }
  EXPECT_EQ(Says().find("entered"), std::string::npos) << Says();
}

// A node may send any numbers.
TEST_F(GroupCountsTest, ACountWithoutOperationsIsNotCompared) {
  for (int i = 0; i < 2; ++i) {
    Rank("counted by its flight recorder: group g: 18446744073709551615 entered\n");
  }
  EXPECT_EQ(Says().find("group"), std::string::npos);
}

}  // namespace
}  // namespace autodist::why
