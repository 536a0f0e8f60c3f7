#include "chief/attempt/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support/plans.h"

namespace autodist::chief {
namespace {

TEST(DescribeCauseTest, AnAbortIsNamedWithItsStatusAndMessage) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  v1::RankAborted aborted;
  aborted.set_rank(4);
  aborted.set_status(7);
  v1::RankExited exit;
  exit.set_rank(4);
  Cause cause{Cause::Kind::kRankFailed, 2, exit, OkStatus(), 0, aborted};
  EXPECT_EQ(DescribeCause(cause, plan), "rank 4 on node3 called MPI_Abort with 7");
  aborted.set_message("no mesh");
  EXPECT_EQ(HowItEnded(aborted), "called MPI_Abort with 7: no mesh");
}

TEST(DescribeCauseTest, AnOomKillNamesTheExhaustedMemory) {
  v1::RankExited exit;
  exit.set_signal(SIGKILL);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL, not by autodist; perhaps out of memory: see dmesg on the node");
  exit.set_oom_kills(0);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL, not by autodist or the kernel's out-of-memory killer");
  exit.set_oom_kills(2);
  EXPECT_EQ(
      HowItEnded(exit),
      "was ended by SIGKILL, not by autodist; the kernel's out-of-memory killer was active on "
      "the node");
  exit.set_signalled(SIGKILL);
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGKILL");
  exit.set_signalled(0);
  v1::OutOfMemory& memory = *exit.mutable_out_of_memory();
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGKILL: the kernel's out-of-memory killer");
  memory.set_limit(uint64_t{4} << 30);
  memory.set_of_cgroup(true);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, at 4.0 GiB of the cgroup");
  memory.set_used(uint64_t{4} << 30);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, at 4.0 of 4.0 GiB of the "
            "cgroup");
  memory.set_of_cgroup(false);
  memory.set_used(900 << 20);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, when it had 900.0 MiB of "
            "the node's 4.0 GiB");
  exit.set_exit_code(137);
  memory.set_used(0);
  EXPECT_EQ(HowItEnded(exit),
            "exited with code 137 (128 + 9: a program that it started was ended by SIGKILL): the "
            "kernel's out-of-memory killer, when there was nothing left of the node's 4.0 GiB");
}

TEST(DescribeCauseTest, AnExitCodeIsExplainedIfItIsThatOfAShell) {
  v1::RankExited exit;
  exit.set_exit_code(139);
  EXPECT_EQ(HowItEnded(exit),
            "exited with code 139 (128 + 11: a program that it started was ended by SIGSEGV)");
  exit.set_exit_code(137);
  const std::string killed =
      "exited with code 137 (128 + 9: a program that it started was ended by SIGKILL";
  EXPECT_EQ(HowItEnded(exit),
            killed + ", not by autodist; perhaps out of memory: see dmesg on the node)");
  exit.set_oom_kills(0);
  EXPECT_EQ(HowItEnded(exit), killed + ", not by autodist or the kernel's out-of-memory killer)");
  exit.set_oom_kills(1);
  EXPECT_EQ(
      HowItEnded(exit),
      killed + ", not by autodist; the kernel's out-of-memory killer was active on the node)");
  exit.set_signalled(SIGKILL);
  EXPECT_EQ(HowItEnded(exit), killed + ")");
  for (const int code : {0, 1, 127, 128, 128 + SIGPIPE, 128 + SIGTERM, 255}) {
    exit.set_exit_code(code);
    EXPECT_EQ(HowItEnded(exit), "exited with code " + std::to_string(code));
  }
}

TEST(DescribeCauseTest, ABusErrorNamesAFullSharedMemory) {
  v1::RankExited exit;
  exit.set_signal(SIGBUS);
  exit.mutable_failure_facts()->set_shared_memory_size(2 << 20);
  v1::FullFileSystem& full = *exit.mutable_failure_facts()->add_full_file_systems();
  full.set_folder("/tmp");
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGBUS");
  full.set_folder("/dev/shm");
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGBUS: /dev/shm on the node is full (2.0 MiB)");
  exit.set_signal(SIGSEGV);
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGSEGV");
}

TEST(DescribeCauseTest, ASignalThatAutodistPassedOnIsNamed) {
  v1::RankExited exit;
  exit.set_signal(SIGUSR1);
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGUSR1");
  exit.set_signalled(SIGUSR1);
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGUSR1, which autodist passed on");
}

TEST(DescribeCauseTest, AProgramForSeveralRanksIsAProcess) {
  v1::LaunchPlan plan;
  EXPECT_EQ(NounFor(1, plan), "rank");
  plan.set_program_kind(v1::PROGRAM_KIND_PER_DEVICE);
  EXPECT_EQ(NounFor(2, plan), "ranks");
  plan.set_program_kind(v1::PROGRAM_KIND_PER_NODE);
  EXPECT_EQ(NounFor(0, plan), "processes");
  plan.set_program_kind(v1::PROGRAM_KIND_PER_JOB);
  EXPECT_EQ(NounFor(1, plan), "process");
}

TEST(OneLineTest, ACauseKeepsItsPlace) {
  EXPECT_EQ(Shortened("KeyError: 'label', train.py:5"), "KeyError: 'label', train.py:5");
  const std::string cut = Shortened("ValueError: " + std::string(500, 'x') + ", train.py:41");
  EXPECT_EQ(cut.size(), kMaxCauseLength);
  EXPECT_TRUE(cut.ends_with("x..., train.py:41")) << cut;
  // Not within a character.
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "\u00e4";
  EXPECT_EQ(Shortened(umlauts).size(), kMaxCauseLength - 1);
  EXPECT_EQ(Shortened("a, " + std::string(500, 'b') + ":1").size(), kMaxCauseLength);
}

TEST(OneLineTest, ConsequencesAreAddedAsLongAsTheyFit) {
  EXPECT_EQ(InOneLine({"a", "b", "c"}), "a; because of it, b; because of it, c");
  EXPECT_EQ(InOneLine({std::string(190, 'a'), "b"}), std::string(190, 'a'));
  EXPECT_EQ(InOneLine({std::string(300, 'a'), "b"}), std::string(197, 'a') + "...");
}

}  // namespace
}  // namespace autodist::chief
