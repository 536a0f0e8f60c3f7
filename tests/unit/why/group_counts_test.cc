// Ranks on GPUs, whose main threads look alike wherever they are: the libraries' counts tell.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "why/verdict.h"

namespace autodist::why {
namespace {

constexpr char kComputes[] = "running";
constexpr char kSleeps[] = "sleeping in hrtimer_nanosleep, system call 230";

std::string Text(int rank, const std::string& counts, const std::string& state) {
  const std::string pid = std::to_string(100 + rank);
  return counts + "process " + pid + " (sleeping): python3 train.py\n  thread " + pid +
         " (python3): " + state + "\n    switched 7 times\n";
}

class GroupCountsTest : public testing::Test {
 protected:
  GroupCountsTest() {
    known_.now.set_time_ms(1'800'000'000'000);
    known_.now.mutable_job()->set_last_output_ms(known_.now.time_ms() - 60'000);
  }

  // `counts`: in both looks, but for `earlier` in the first.
  void Rank(const std::string& counts, const std::string& state = kComputes,
            const std::optional<std::string>& earlier = {}) {
    const int number = known_.now.ranks_size();
    v1::BoardRank& rank = *known_.now.add_ranks();
    rank.set_rank(static_cast<uint32_t>(number));
    rank.set_node(static_cast<uint32_t>(number));
    rank.add_gpus(0);
    rank.set_state(v1::RANK_STATE_RUNNING);
    known_.now.add_nodes()->set_address("host" + std::to_string(number + 1));
    for (auto* looks : {&known_.stacks, &known_.stacks_earlier}) {
      v1::WholeStack& stack = looks->emplace_back();
      stack.set_rank(static_cast<uint32_t>(number));
      stack.set_text(
          Text(number, looks == &known_.stacks ? counts : earlier.value_or(counts), state));
    }
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

  std::string Says() {
    known_.before = known_.now;
    known_.before->set_time_ms(known_.now.time_ms() - 5'000);
    const Verdict verdict = Judge(known_);
    return (verdict.kind == Verdict::Kind::kWrong ? "wrong: " : "") + verdict.trouble.what();
  }

  Known known_;
};

TEST_F(GroupCountsTest, WhoIsBehindIsNamed) {
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

TEST_F(GroupCountsTest, WhoWaitsForAnotherIsNotTheOne) {
  // 3 has not come to 1, which therefore has not come to 0.
  Rank(Nccl(0, "0xa", 5), kSleeps);
  Rank(Nccl(1, "0xa", 4) + Nccl(1, "0xb", 9), kSleeps);
  Rank(Nccl(2, "0xa", 5), kSleeps);
  Rank(Nccl(3, "0xb", 8), kSleeps);
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered 8 collectives of group 0xb, the other rank "
            "9; it sleeps");
}

TEST_F(GroupCountsTest, WhoIsBehindAndAtWorkDoesNothingWrong) {
  for (const int rank : {0, 1}) Rank(Nccl(rank, "0x1f", 17));
  Rank(Nccl(2, "0x1f", 16), kComputes);
  EXPECT_FALSE(Says().starts_with("wrong: ")) << Says();
}

TEST_F(GroupCountsTest, CountsThatRiseAreOfDifferentMoments) {
  Rank(Nccl(0, "0x1f", 17), kSleeps);
  Rank(Nccl(1, "0x1f", 16), kSleeps, Nccl(1, "0x1f", 3));
  EXPECT_EQ(Says().find("group"), std::string::npos) << Says();
}

TEST_F(GroupCountsTest, WhoHasEnteredAnotherOperationIsNamed) {
  for (int rank = 0; rank < 3; ++rank) Rank(Recorded(17, "all_reduce of [4]"));
  Rank(Recorded(17, "all_reduce of [5]"));
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4, GPU 0) has entered all_reduce of [5] as collective 17 of group "
            "default_pg, the 3 others all_reduce of [4]");
}

TEST_F(GroupCountsTest, BrokenLinesAreNothing) {
  for (const char* line : {"counted by \n", "counted by x: group \n", "counted by x: group y: z\n",
                           "counted by x: group y: 99999999999999999999999 entered\n",
                           "counted by: group: 1 entered\n"}) {
    Rank(line, kSleeps);
  }
  EXPECT_EQ(Says().find("entered"), std::string::npos) << Says();
}

}  // namespace
}  // namespace autodist::why
