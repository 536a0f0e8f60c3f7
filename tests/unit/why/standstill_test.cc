#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "why/activity.h"
#include "why/diagnosis.h"

namespace autodist::why {
namespace {

using testing::StartsWith;

// An agent's report of a process; all of it may be changed.
struct ProcessState {
  int pid = 100;
  int parent = 1;
  std::string state = "sleeping in futex_do_wait, system call 202";
  std::string frames = {};  // of Python's main thread; "": no stacks
  int switches = 100;
  std::string more = {};  // lines, each indented by two spaces
  std::string command = "python3 train.py";
  std::string depth = {};  // of the stack: "2656 bytes deep, at f16, code 3fa2b1"; "": unknown
  std::string gdb = {};    // native frames of the main thread, instead of Python's; "": none

  std::string Text() const {
    const std::string number = std::to_string(pid);
    std::string text = "process " + number + " (sleeping): " + command + "\n  child of " +
                       std::to_string(parent) + "\n" + more + "  thread " + number +
                       " (python3): " + state + "\n    switched " + std::to_string(switches) +
                       " times\n" + (depth.empty() ? "" : "  stack: " + depth + "\n");
    if (!gdb.empty()) {
      return text + "  user-space stacks by gdb:\n    Thread 1 (LWP " + number + "):\n" + gdb;
    }
    if (frames.empty()) return text + "  no user-space stacks: py-spy is not installed\n";
    return text + "  user-space stacks by py-spy:\n    Thread " + number +
           " (idle): \"MainThread\"\n" + frames;
  }
};

std::string In(const std::string& function, const std::string& file) {
  return "        " + function + " (" + file + ")\n";
}

constexpr char kC10d[] = "/x/site-packages/torch/distributed/distributed_c10d.py:1541";

ProcessState AllReduce() {
  return {.frames = In("all_reduce", kC10d) + In("step", "/home/me/train.py:40")};
}

ProcessState Sleeps() {
  return {.state = "sleeping in hrtimer_nanosleep, system call 230",
          .frames = In("stuck", "/home/me/train.py:12")};
}

ProcessState AtSocket(int line) {
  return {.state = "sleeping in sk_wait_data, system call 45",
          .frames = In("exchange", "/home/me/plain.py:" + std::to_string(line))};
}

// The same in both samples, unless `later` or `earlier` changes it.
class StandstillTest : public testing::Test {
 protected:
  StandstillTest() {
    known_.now.set_time_ms(1'800'000'000'000);
    known_.now.mutable_job()->set_working_directory("/home/me");
    known_.now.mutable_job()->set_last_output_ms(known_.now.time_ms() - 10'000);
  }

  void Rank(const std::vector<ProcessState>& processes,
            const std::optional<std::vector<ProcessState>>& earlier = {}) {
    const auto number = static_cast<uint32_t>(known_.now.ranks_size());
    v1::RankSnapshot& rank = *known_.now.add_ranks();
    rank.set_rank(number);
    rank.set_node(number);
    rank.set_state(v1::RANK_STATE_RUNNING);
    v1::NodeSnapshot& node = *known_.now.add_nodes();
    node.set_address("host" + std::to_string(number + 1));
    node.add_ranks(number);
    Add(number, processes, known_.stacks);
    Add(number, earlier.value_or(processes), known_.stacks_earlier);
  }

  void Ranks(int count, const ProcessState& process) {
    for (int i = 0; i < count; ++i) Rank({process});
  }

  // It slept so often between the samples.
  void Wakes(const ProcessState& earlier, int times = 500) {
    ProcessState now = earlier;
    now.switches += times;
    Rank({now}, {{earlier}});
  }

  std::string Says() {
    known_.before = known_.now;
    known_.before->set_time_ms(known_.now.time_ms() - 5'000);
    const v1::JobDiagnosis diagnosis = Judge(known_);
    const char* kind = diagnosis.kind() == v1::JobDiagnosis::KIND_ISSUE ? "wrong: "
                       : diagnosis.kind() == v1::JobDiagnosis::KIND_OK  ? "well: "
                                                                        : "";
    return kind + diagnosis.issue().what();
  }

  Known known_;

 private:
  static void Add(uint32_t rank, const std::vector<ProcessState>& processes,
                  std::vector<v1::WholeStack>& stacks) {
    v1::WholeStack& stack = stacks.emplace_back();
    stack.set_rank(rank);
    for (const ProcessState& process : processes) *stack.mutable_text() += process.Text();
  }
};

TEST_F(StandstillTest, WithoutCollectivesTheDeviatingRankIsNamed) {
  Rank({AtSocket(41)});
  Rank({AtSocket(46)});
  Rank({Sleeps()});
  Rank({AtSocket(46)});
  EXPECT_EQ(
      Says(),
      "wrong: rank 2 (host3) sleeps in stuck (train.py:12), while the 3 others wait at sockets "
      "in exchange (plain.py)");
}

TEST_F(StandstillTest, TheDeviatingRankByTheKernelsDataAlone) {
  const ProcessState waits{.frames = ""};
  ProcessState asleep = Sleeps();
  asleep.frames.clear();
  Ranks(2, waits);
  Rank({asleep});
  Ranks(1, waits);
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) sleeps, while the 3 others wait for other threads or processes");
}

// The depth of the stack is known without py-spy and gdb.
constexpr char kDepth[] = "2656 bytes deep, at f16, code 3fa2b1";
constexpr char kOtherDepth[] = "5312 bytes deep, at f16, code 3fa2b1";

TEST_F(StandstillTest, TheDeviatingRankByTheDepthOfItsStack) {
  const ProcessState waits{.depth = kDepth};
  const ProcessState locked{.depth = kOtherDepth};
  Ranks(2, waits);
  Rank({locked});
  Ranks(1, waits);
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) waits for a lock, another thread or another process, while the "
            "3 others wait in another place");
  known_.stacks_earlier[0] = known_.stacks[2];  // rank 0 has been elsewhere
  known_.stacks_earlier[0].set_rank(0);
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

// A thread that waits for Python's lock tries again and again.
TEST_F(StandstillTest, TheDeviatingRankMayWakeUpInItsPlace) {
  ProcessState tries{.depth = kOtherDepth};
  Ranks(2, {.depth = kDepth});
  Wakes(tries);
  EXPECT_THAT(Says(), StartsWith("wrong: rank 2 (host3) waits for a lock, another thread"));
}

// If the others have run, too, a collective may have completed.
TEST_F(StandstillTest, NoRankDeviatesIfOthersWakeUpElsewhere) {
  ProcessState waits{.depth = kDepth};
  ProcessState other{.depth = kOtherDepth};
  Ranks(1, waits);
  Wakes(waits);
  Wakes(waits);
  Rank({other});
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

// Another version of a library; a frame that is aligned, as for vectors; another program.
TEST_F(StandstillTest, OtherDepthsMayBeThoseOfTheSamePlace) {
  const Known nothing = known_;
  for (const char* depth :
       {"2672 bytes deep, at 0a4, code 77", "2704 bytes deep, at f16, code 3fa2b1"}) {
    known_ = nothing;
    Ranks(3, {.depth = kDepth});
    Rank({{.depth = depth}});
    EXPECT_THAT(Says(), StartsWith("unclear: found no cause")) << depth;
  }
  known_ = nothing;
  Ranks(3, {.depth = kDepth});
  Rank({{.command = "python3 -m server", .depth = kOtherDepth}});
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

// Aligned frames may have made the depths of one place so different that they are near another.
TEST_F(StandstillTest, DepthsNearThoseOfOthersAreNotCompared) {
  for (const int bytes : {2640, 2700, 2700, 2660}) {
    Rank({{.depth = std::to_string(bytes) + " bytes deep, at f16, code 3fa2b1"}});
  }
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

TEST_F(StandstillTest, AllOthersMustStandToNameByDepth) {
  ProcessState waits{.depth = kDepth};
  const Known nothing = known_;
  for (const int awake : {1, 2}) {
    known_ = nothing;
    Ranks(3 - awake, waits);
    for (int i = 0; i < awake; ++i) Wakes(waits);
    Ranks(2, {.depth = kOtherDepth});
    EXPECT_THAT(Says(), StartsWith("unclear: found no cause")) << awake;
  }
}

// Others may still send what the ranks wait for, or may compute on the GPUs.
TEST_F(StandstillTest, RanksThatMayGoOnAreNotNamedByDepth) {
  const Known nothing = known_;
  const auto says = [&](const std::string& before, const std::string& after, bool gpus = false) {
    known_ = nothing;
    ProcessState now{.more = after, .depth = kDepth};
    ProcessState earlier = now;
    earlier.more = before;
    Rank({now}, {{earlier}});
    Ranks(2, {.depth = kDepth});
    Rank({{.depth = kOtherDepth}});
    if (gpus) {
      for (v1::RankSnapshot& rank : *known_.now.mutable_ranks()) rank.add_gpus(0);
    }
    return Says();
  };
  constexpr char kSentOnce[] = "  sent again to 10.0.0.3: 1 of 90 segments, unanswered 1\n";
  constexpr char kSentAgain[] = "  sent again to 10.0.0.3: 3 of 90 segments, unanswered 3\n";
  EXPECT_THAT(says("", ""), StartsWith("wrong: rank 3 (host4) waits for a lock"));
  EXPECT_THAT(says(kSentOnce, kSentOnce), StartsWith("wrong: rank 3 (host4) waits for a lock"));
  EXPECT_THAT(says("", kSentAgain), StartsWith("unclear: found no cause"));
  EXPECT_THAT(says("", "", true), StartsWith("unclear: found no cause"));
  known_.stalled = true;
  EXPECT_THAT(Says(), StartsWith("wrong: rank 3 (host4, GPU 0) waits for a lock"));
}

TEST_F(StandstillTest, ARankThatHasEndedExplainsMoreThanDepths) {
  Ranks(3, {.depth = kDepth});
  Rank({{.depth = kOtherDepth}});
  v1::RankSnapshot& ended = *known_.now.add_ranks();
  ended.set_rank(4);
  ended.set_state(v1::RANK_STATE_ENDED);
  ended.set_ended_ms(known_.now.time_ms() - 20'000);
  EXPECT_THAT(Says(), StartsWith("wrong: rank 4"));
  EXPECT_THAT(Says(), testing::HasSubstr("ended with 0 20 s ago; the 4 others still run"));
}

// The node of the rank that the others wait for may not have answered.
TEST_F(StandstillTest, WithoutASampleOfARankDepthsAreNotCompared) {
  Ranks(3, {.depth = kDepth});
  Rank({{.depth = kOtherDepth}});
  Rank({{}});
  known_.stacks.pop_back();
  EXPECT_THAT(Says(), StartsWith("unclear"));
}

// It slept, and then entered the collective, or the other way round.
TEST_F(StandstillTest, WithoutFramesARankThatDidSomethingElseBeforeIsNotNamed) {
  const ProcessState slept{.state = "sleeping in hrtimer_nanosleep, system call 230"};
  ProcessState waits;
  waits.switches += 3;
  const Known nothing = known_;
  for (const bool sleeps_first : {true, false}) {
    known_ = nothing;
    Ranks(2, {});
    sleeps_first ? Rank({waits}, {{slept}}) : Rank({slept}, {{waits}});
    EXPECT_THAT(Says(), StartsWith("unclear: found no cause")) << sleeps_first;
  }
}

// Either of them may be in a collective.
TEST_F(StandstillTest, OfAsManyRanksAtSocketsAsAtThreadsNoneIsNamed) {
  const Known nothing = known_;
  for (const int each : {1, 2}) {
    known_ = nothing;
    Ranks(each, {.state = "sleeping in sk_wait_data, system call 45"});
    Ranks(each, {});
    EXPECT_THAT(Says(), StartsWith("unclear: found no cause")) << each;
  }
}

// A silent job may make a step between the looks.
TEST_F(StandstillTest, WithoutDebuggersARankThatWokeUpHasRun) {
  ProcessState waits{.depth = kDepth};
  for (int i = 0; i < 3; ++i) Wakes(waits, 3);
  Rank({{.depth = kOtherDepth}});
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

// Which of them the others wait for is unknown.
TEST_F(StandstillTest, RanksInThreePlacesAreNotCompared) {
  Ranks(3, {.depth = kDepth});
  Rank({{.depth = kOtherDepth}});
  Rank({{.depth = "7000 bytes deep, at f16, code 3fa2b1"}});
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

TEST_F(StandstillTest, OfTwoRanksOfWhichOnePollsNoneIsNamed) {
  ProcessState polls{.state = "sleeping in hrtimer_nanosleep, system call 230"};
  Rank({{.state = "sleeping in sk_wait_data, system call 45"}});
  Wakes(polls);
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

TEST_F(StandstillTest, NoRankDeviatesIfAllStacksDiffer) {
  for (const char* depth :
       {"100 bytes deep, at f16, code 3fa2b1", "200 bytes deep, at f16, code 3fa2b1",
        "300 bytes deep, at f16, code 3fa2b1"}) {
    Rank({{.depth = depth}});
  }
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

TEST_F(StandstillTest, MostRanksMayWaitForALockOnAFile) {
  Rank({{.depth = kDepth}});
  Ranks(3, {.state = "sleeping in locks_lock_inode_wait, system call 73",
            .depth = "4000 bytes deep, at 1a7, code 3fa2b1"});
  EXPECT_EQ(Says(),
            "wrong: ranks 1-3 stand still: rank 1 (host2) waits for a lock; the other rank, which "
            "may hold it, waits for another thread or process");
  Rank({{.depth = kDepth}});
  EXPECT_EQ(Says(),
            "wrong: ranks 1-3 stand still: rank 1 (host2) waits for a lock; the 2 others, one of "
            "which may hold it, wait for other threads or processes");
  Ranks(2, {.depth = kDepth});
  EXPECT_EQ(Says(),
            "wrong: ranks 1-3 stand still: rank 1 (host2) waits for a lock, while the 4 others "
            "wait for other threads or processes");
}

TEST_F(StandstillTest, OfRanksAtALockAndOneAtASocketNoneIsNamed) {
  Rank({{.state = "sleeping in sk_wait_data, system call 45"}});
  Ranks(3, {.state = "sleeping in locks_lock_inode_wait, system call 73"});
  EXPECT_THAT(Says(), StartsWith("unclear: found no cause"));
}

// A server of files that hangs, or a file for which most ranks poll.
TEST_F(StandstillTest, DepthsAreComparedOnlyOfRanksThatAllWait) {
  const struct {
    const char* one;
    const char* most;
  } kCases[] = {
      {"sleeping in futex_do_wait, system call 202", "disk sleep in rpc_wait_bit_killable"},
      {"sleeping in futex_do_wait, system call 202", "sleeping in hrtimer_nanosleep"},
      {"sleeping in sk_wait_data, system call 45", "sleeping in locks_lock_inode_wait"},
      {"sleeping in sk_wait_data, system call 45", "disk sleep in rpc_wait_bit_killable"},
  };
  const Known nothing = known_;
  for (const auto& one : kCases) {
    known_ = nothing;
    Rank({{.state = one.one, .depth = kOtherDepth}});
    Ranks(3, {.state = one.most, .depth = kDepth});
    EXPECT_THAT(Says(), StartsWith("unclear: found no cause")) << one.one << ", " << one.most;
  }
}

// Without frames, ranks at sockets and ranks at threads may wait in the same collective, or the
// former for a service.
TEST_F(StandstillTest, WithoutFramesTheOtherEndOfASocketDecides) {
  const auto at = [](const std::string& end) {
    return ProcessState{.state = "sleeping in sk_wait_data, system call 45" +
                                 (end.empty() ? "" : "\n    file: socket to " + end)};
  };
  const ProcessState serves{.more = "  connected at 10.0.0.7:5000\n"};
  ProcessState store = at("10.0.0.1:29500");
  store.more = "  connected at 10.0.0.1:29500\n";
  const struct {
    const char* name;
    ProcessState first;
    ProcessState most;
    ProcessState last;
    const char* says;
  } kCases[] = {
      {"of unknown others", {}, at(""), {}, "unclear: found no cause"},
      {"of a service", {}, at("10.0.0.7:5000"), {}, "unclear: found no cause"},
      {"of a rank", serves, at("10.0.0.7:5000"), at("10.0.0.7:5000"),
       "wrong: rank 0 (host1) waits for a lock, another thread or another process, while the 4 "
       "others wait at sockets"},
      {"one, of unknown others", {}, {}, at(""), "unclear: found no cause"},
      {"one, of a service",
       {},
       {},
       at("10.0.0.7:5000"),
       "well: nothing is wrong as far as autodist sees: rank 4 (host5) waits at a socket, for "
       "10.0.0.7:5000, while the 4 others wait for other threads or processes"},
      {"one, of a rank", serves, {}, at("10.0.0.7:5000"), "unclear: found no cause"},
      {"one that no program accepts",
       {},
       {},
       at("10.0.0.7:5000, not accepted"),
       "wrong: rank 4 (host5) waits at a socket, for 10.0.0.7:5000, where no program"},
      {"of the store of one of them",
       store,
       at("10.0.0.1:29500"),
       {},
       "wrong: rank 4 (host5) waits for a lock, another thread or another process, while the 4 "
       "others wait at sockets"},
      {"one, at a store that it serves", store, {}, {}, "unclear: found no cause"},
      {"one, of Unix",
       {},
       {},
       {.state = "sleeping in unix_stream_read_generic, system call 45\n    file: socket:[4711]"},
       "wrong: rank 4 (host5) waits at a socket, while the 4 others wait for other threads"},
      {"one without an answer",
       {},
       {},
       at("10.0.0.7:5000, sent again 4 times"),
       "wrong: rank 4 (host5) waits at a socket, for 10.0.0.7:5000, which does not answer"},
  };
  const Known nothing = known_;
  for (const auto& one : kCases) {
    known_ = nothing;
    Rank({one.first});
    Ranks(3, one.most);
    Rank({one.last});
    EXPECT_THAT(Says(), StartsWith(one.says)) << one.name;
  }
}

TEST_F(StandstillTest, AServiceMayAnswerARankThatNoCollectiveAwaits) {
  ProcessState asks = AtSocket(41);
  asks.state += "\n    file: socket to 10.0.0.7:5432";
  Ranks(3, {.frames = In("exchange", "/home/me/plain.py:50")});
  Rank({asks});
  EXPECT_EQ(Says(),
            "well: nothing is wrong as far as autodist sees: rank 3 (host4) waits at a socket in "
            "exchange (plain.py:41), for 10.0.0.7:5432, while the 3 others wait for other threads "
            "or processes in exchange (plain.py)");
  Rank({{}});  // it may be at fault, but has no sample
  known_.stacks.pop_back();
  EXPECT_THAT(Says(), StartsWith("unclear: no data on 1 rank of 5; rank 3 (host4) waits at a"));
  known_.stalled = true;
  EXPECT_THAT(Says(), StartsWith("wrong: rank 3 (host4) waits at a socket in exchange"));
}

// NCCL's collectives keep the CPU busy.
TEST_F(StandstillTest, ARankThatRestsWhileOthersSeemToComputeOnGpus) {
  ProcessState computes{.state = "running", .frames = In("forward", "/home/me/net.py:7")};
  ProcessState unseen_sleep = Sleeps();
  unseen_sleep.frames.clear();
  ProcessState asks = AtSocket(41);
  asks.state += "\n    file: socket to 10.0.0.7:5432";
  const struct {
    ProcessState most;
    ProcessState one;
    const char* says;
  } kCases[] = {
      {computes, Sleeps(),
       "wrong: rank 3 (host4, GPU 0) sleeps in stuck (train.py:12), while the 3 others wait for "
       "their GPUs, or compute in forward (net.py)"},
      {{.state = "running"},
       unseen_sleep,
       "wrong: rank 3 (host4, GPU 0) sleeps, while the 3 others wait for their GPUs, or compute"},
      {computes, asks,
       "well: nothing is wrong as far as autodist sees: rank 3 (host4, GPU 0) waits at a socket in "
       "exchange (plain.py:41), for 10.0.0.7:5432, while the 3 others wait for their GPUs, or "
       "compute in forward (net.py)"},
      // It may be in a collective of the CPUs.
      {{.state = "running"},
       {},
       "well: nothing is wrong as far as autodist sees: rank 0 (host1, GPU 0) computes, and 2 "
       "other ranks too; 1 rank waits for that"},
  };
  const Known nothing = known_;
  for (const auto& one : kCases) {
    known_ = nothing;
    Ranks(3, one.most);
    Rank({one.one});
    for (v1::RankSnapshot& rank : *known_.now.mutable_ranks()) rank.add_gpus(0);
    EXPECT_EQ(Says(), one.says);
  }
}

TEST_F(StandstillTest, WithoutFramesARankMayPoll) {
  const ProcessState polls{.state = "sleeping in hrtimer_nanosleep, system call 230"};
  Ranks(2, {});
  Wakes(polls);
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) sleeps, while the 2 others wait for other threads or processes");
}

TEST_F(StandstillTest, TheDeviatingRankByItsPosition) {
  ProcessState other;
  other.frames = In("exchange", "/home/me/train.py:50");
  ProcessState stuck = other;
  stuck.frames = In("stuck", "/home/me/train.py:36");
  Ranks(3, other);
  Rank({stuck});
  EXPECT_EQ(Says(),
            "wrong: rank 3 (host4) waits for a lock, another thread or another process in stuck "
            "(train.py:36), while the 3 others wait in exchange (train.py)");
}

// Frames of Python and native ones of the same place differ.
TEST_F(StandstillTest, RanksThatDifferentToolsHaveShownAreNotComparedByTheirFrames) {
  const ProcessState in_collective = AllReduce();
  const ProcessState in_broadcast{.frames = In("broadcast", kC10d)};
  const ProcessState other{.frames = In("exchange", "/home/me/train.py:50")};
  const ProcessState loads{
      .frames = In("_try_get_data", "/x/site-packages/torch/utils/data/dataloader.py:1131")};
  const ProcessState native{.gdb = "    #0  0x01 in step () from /lib/libown.so\n"};
  const ProcessState native_barrier{.gdb = "    #0  0x01 in gloo::barrier () from /lib/libg.so\n"};
  const ProcessState unseen{.frames = ""};
  ProcessState native_sleep = native;
  native_sleep.state = Sleeps().state;
  const struct {
    const char* name;
    ProcessState most;
    ProcessState one;
    bool is_named;
  } kCases[] = {
      {"the other may be in the collective", in_collective, native, false},
      {"so may one without frames", in_collective, unseen, false},
      {"the same tool shows another place", in_collective, other, true},
      {"another collective by the same tool", in_collective, in_broadcast, true},
      {"another collective by another tool", in_collective, native_barrier, false},
      {"places by different tools", other, native, false},
      {"a loader that gdb would not show", native, loads, false},
      {"the kernel shows the sleep of any", in_collective, native_sleep, true},
  };
  for (const auto& one : kCases) {
    known_.now.clear_ranks();
    known_.now.clear_nodes();
    known_.stacks.clear();
    known_.stacks_earlier.clear();
    Ranks(3, one.most);
    Rank({one.one});
    EXPECT_EQ(Says().starts_with("wrong: rank 3 (host4)"), one.is_named)
        << one.name << ": " << Says();
  }
}

TEST_F(StandstillTest, ARankThatWaitsForInputIsNamed) {
  const ProcessState asks{.state = "sleeping in wait_woken, system call 0\n    file: its input",
                          .frames = In("ask", "/home/me/train.py:5")};
  Ranks(1, asks);
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits for its standard input in ask (train.py:5); only the rank "
            "of --stdin-rank receives what you type");
  const ProcessState at_terminal{
      .state = "sleeping in n_tty_read, system call 0\n    file: /dev/tty",
      .frames = In("ask", "/home/me/train.py:5")};
  Rank({at_terminal});
  EXPECT_EQ(Says(),
            "wrong: all 2 ranks wait for their input: rank 0 (host1) waits for its standard input "
            "in ask (train.py:5); only the rank of --stdin-rank receives what you type");
  Ranks(3, AllReduce());
  EXPECT_TRUE(Says().starts_with("wrong: ranks 0-1 have not entered the all-reduce")) << Says();
}

TEST_F(StandstillTest, IfAllWaitAlikeNoRankDeviates) {
  Ranks(4, ProcessState{.frames = ""});
  EXPECT_EQ(Says(), "unclear: found no cause, and the job may be in order");
}

TEST_F(StandstillTest, ARankThatRanInBetweenDoesNotDeviate) {
  Ranks(3, AtSocket(41));
  ProcessState later = Sleeps();
  later.switches = 200;
  Rank({later}, {{Sleeps()}});
  EXPECT_EQ(Says(), "unclear: found no cause, and the job may be in order");
}

TEST_F(StandstillTest, AShellWaitsByASignal) {
  ProcessState shell{.pid = 10,
                     .parent = 1,
                     .state = "sleeping in sigsuspend, system call 130",
                     .command = "/bin/sh train.sh"};
  ProcessState waits{.pid = 11, .parent = 10};
  ProcessState asleep{.pid = 12, .parent = 10, .state = "sleeping in hrtimer_nanosleep"};
  ProcessState second{.pid = 12, .parent = 10};
  Rank({shell, waits, second});
  Rank({shell, waits, asleep});
  EXPECT_THAT(Says(),
              StartsWith("wrong: process 12 of rank 1 (host2) sleeps, while the 3 others "));
}

TEST_F(StandstillTest, EachProcessOfAShellIsJudged) {
  const ProcessState shell{.state = "sleeping in do_wait, system call 61", .frames = ""};
  ProcessState first = AllReduce();
  first.pid = 101;
  first.parent = 100;
  ProcessState second = first;
  second.pid = 102;
  Rank({shell, first, second});
  ProcessState asleep = Sleeps();
  asleep.pid = 102;
  asleep.parent = 100;
  Rank({shell, first, asleep});
  EXPECT_EQ(Says(),
            "wrong: process 102 of rank 1 (host2) has not entered the all-reduce in which the 3 "
            "others wait; it sleeps in stuck (train.py:12)");
}

// As in "python3 train.py | tee log", and with a loop in the background.
TEST_F(StandstillTest, HelpersOfAShellAreNotJudged) {
  const ProcessState shell{.pid = 10,
                           .state = "sleeping in do_wait, system call 61",
                           .command = "bash -c 'python3 train.py | tee log'"};
  const ProcessState reader{.pid = 12,
                            .parent = 10,
                            .state = "sleeping in pipe_read, system call 0\n    file: its input",
                            .command = "tee log"};
  ProcessState loop = shell;
  loop.pid = 13;
  loop.parent = 10;
  const ProcessState sleep{.pid = 14,
                           .parent = 13,
                           .state = "sleeping in hrtimer_nanosleep, system call 230",
                           .command = "/usr/bin/sleep 60"};
  const auto as_child = [](ProcessState program) {
    program.pid = 11;
    program.parent = 10;
    return program;
  };
  Rank({shell, as_child(AllReduce()), reader});
  Rank({shell, as_child(AllReduce()), loop, sleep});
  Rank({shell, reader, loop, as_child(Sleeps()), sleep});
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) has not entered the all-reduce in which the 2 others wait; it "
            "sleeps in stuck (train.py:12)");
}

TEST_F(StandstillTest, WhichChildrenOfALauncherAreJudged) {
  const std::string in_wait = "sleeping in do_wait, system call 61";
  const std::string reads = "sleeping in pipe_read, system call 0\n    file: its input";
  const std::string at_terminal = "sleeping in wait_woken, system call 0\n    file: its input";
  const std::string sleeps = "sleeping in hrtimer_nanosleep, system call 230";
  const struct {
    const char* name;
    const char* launcher;
    std::vector<ProcessState> children;  // their parent is the launcher, with PID 10
    size_t judged;
  } kCases[] = {
      {"all only help",
       "bash run.sh",
       {{.pid = 11, .state = reads, .command = "tee log"},
        {.pid = 12, .state = sleeps, .command = "sleep 60"}},
       2},
      {"a single one", "bash run.sh", {{.pid = 11, .state = reads, .command = "tee log"}}, 1},
      {"no shell",
       "./launch",
       {{.pid = 11}, {.pid = 12, .state = reads, .command = "python3 ask.py"}},
       2},
      {"a terminal",
       "bash run.sh",
       {{.pid = 11}, {.pid = 12, .state = at_terminal, .command = "python3 ask.py"}},
       2},
      {"a shell without another program",
       "bash run.sh",
       {{.pid = 11}, {.pid = 12, .state = in_wait, .command = "bash watch.sh"}},
       1},
      {"a shell that works by itself",
       "bash run.sh",
       {{.pid = 11}, {.pid = 12, .state = "running", .command = "bash stage.sh"}},
       2},
  };
  for (const auto& one : kCases) {
    std::string text = ProcessState{.pid = 10, .state = in_wait, .command = one.launcher}.Text();
    for (ProcessState child : one.children) {
      child.parent = 10;
      text += child.Text();
    }
    EXPECT_EQ(ActivitiesOf(text, "").size(), one.judged) << one.name;
  }
}

TEST_F(StandstillTest, ChildrenOfSpawnTakePart) {
  ProcessState parent{
      .state = "sleeping in poll_schedule_timeout, system call 7",
      .frames = In("wait", "/usr/lib/python3.11/multiprocessing/connection.py:930") +
                In("join", "/x/site-packages/torch/multiprocessing/spawn.py:109")};
  ProcessState child = AllReduce();
  child.pid = 101;
  child.parent = 100;
  ProcessState asleep = Sleeps();
  asleep.pid = 101;
  asleep.parent = 100;
  Rank({parent, child});
  Rank({parent, asleep});
  EXPECT_EQ(
      Says(),
      "wrong: rank 1 (host2) has not entered the all-reduce in which the other rank waits; it "
      "sleeps in stuck (train.py:12)");
}

TEST_F(StandstillTest, MoreThanHalfMayBeMissing) {
  ProcessState locked{.state = "sleeping in locks_lock_inode_wait, system call 73",
                      .frames = In("load", "/home/me/train.py:7")};
  Ranks(3, locked);
  ProcessState barrier = AllReduce();
  barrier.frames = In("barrier", kC10d);
  Rank({barrier});
  EXPECT_EQ(Says(),
            "wrong: ranks 0-2 have not entered the barrier in which the other rank waits; rank 0 "
            "(host1) waits for a lock in load (train.py:7)");
}

TEST_F(StandstillTest, AReceiveAndACollective) {
  Ranks(3, AllReduce());
  ProcessState receives = AllReduce();
  receives.frames = In("recv", kC10d);
  Rank({receives});
  EXPECT_EQ(
      Says(),
      "wrong: rank 3 (host4) has not entered the all-reduce in which the 3 others wait; it is "
      "in a receive");
}

TEST_F(StandstillTest, ARankThatPollsForOthersWaits) {
  ProcessState begins = AllReduce();
  begins.frames = In("init_process_group", kC10d);
  ProcessState later = begins;
  later.switches = 500;
  Rank({later}, {{begins}});
  Rank({later}, {{begins}});
  Rank({Sleeps()});
  EXPECT_EQ(
      Says(),
      "wrong: rank 2 (host3) has not entered init_process_group in which the 2 others wait; it "
      "sleeps in stuck (train.py:12)");
}

TEST_F(StandstillTest, ASilentJobWithAllRanksRunningIsActive) {
  ProcessState later = AllReduce();
  later.switches = 180;
  for (int i = 0; i < 3; ++i) Rank({later}, {{AllReduce()}});
  EXPECT_EQ(Says(),
            "well: nothing is wrong as far as autodist sees: all 3 ranks run and synchronize, "
            "without output");
}

TEST_F(StandstillTest, ASilentJobWithOneRankIsActive) {
  ProcessState later = AllReduce();
  later.switches = 180;
  Rank({later}, {{AllReduce()}});
  EXPECT_EQ(Says(),
            "well: nothing is wrong as far as autodist sees: the rank runs and synchronizes, "
            "without output");
}

TEST_F(StandstillTest, OfTwoRanksWithoutFramesTheSleepingOneIsNamed) {
  Rank({ProcessState{}});
  Rank({ProcessState{.state = "sleeping in hrtimer_nanosleep, system call 230"}});
  EXPECT_EQ(
      Says(),
      "wrong: rank 1 (host2) sleeps, while the other rank waits for another thread or process");
}

TEST_F(StandstillTest, ASleepInterruptedByADebugger) {
  Ranks(2, AllReduce());
  ProcessState sleeps{.state = "sleeping in do_syscall_64, system call 219"};
  sleeps.frames = "";
  Rank({sleeps});
  const auto with_gdb = [](std::string text) {
    text.erase(text.find("  no user-space"));
    return text + "  user-space stacks by gdb:\n    Thread 1 (LWP 100):\n" +
           "    #0  0x01 in clock_nanosleep () from /lib/libc.so.6\n" +
           "    #1  0x02 in main () at ranks.cc:36\n";
  };
  for (auto* looks : {&known_.stacks, &known_.stacks_earlier}) {
    looks->back().set_text(with_gdb(looks->back().text()));
  }
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) has not entered the all-reduce in which the 2 others wait; it "
            "sleeps in main (ranks.cc:36)");
}

// The value of `more` with the work so far.
std::string Worked(int at_ms, int main_ms, int bytes = 0) {
  return "  by " + std::to_string(at_ms) + " ms: CPU " + std::to_string(main_ms) +
         " ms, main thread " + std::to_string(main_ms) + " ms, data " + std::to_string(bytes) +
         " bytes\n";
}

TEST_F(StandstillTest, ASilentJobWithoutCollectivesIsActiveIfAllRanksMoveData) {
  ProcessState now = AtSocket(40);
  ProcessState before = now;
  now.switches = 200;
  now.more = Worked(15'000, 100, 900);
  before.more = Worked(10'000, 100, 100);
  for (int i = 0; i < 3; ++i) Rank({now}, {{before}});
  EXPECT_EQ(Says(),
            "well: nothing is wrong as far as autodist sees: all 3 ranks run and synchronize, "
            "without output");
}

TEST_F(StandstillTest, AComputingRankWithoutCollectivesIsAwaited) {
  for (int i = 0; i < 2; ++i) Rank({AtSocket(40)});
  Rank({ProcessState{.state = "running", .frames = In("spin", "/home/me/plain.py:12")}});
  EXPECT_EQ(Says(),
            "well: nothing is wrong as far as autodist sees: rank 2 (host3) computes in spin "
            "(plain.py:12); 2 ranks wait for that");
}

TEST_F(StandstillTest, ThreadsOfAnEndingPythonAreNotWorkIfMostRanksHaveEnded) {
  ProcessState now{.frames = In("_shutdown", "/usr/lib/python3.11/threading.py:1583")};
  ProcessState before = now;
  const auto worked = [](int at_ms, int cpu_ms) {
    return "  by " + std::to_string(at_ms) + " ms: CPU " + std::to_string(cpu_ms) +
           " ms, main thread 100 ms, data 0 bytes\n";
  };
  now.more = worked(15'000, 6'000);
  before.more = worked(10'000, 1'200);
  Rank({now}, {{before}});
  EXPECT_EQ(
      Says(),
      "well: nothing is wrong as far as autodist sees: rank 0 (host1) waits for a lock, "
      "another thread or another process in _shutdown (threading.py:1583), while its other threads "
      "use 1.0 cores");
  for (int i = 0; i < 2; ++i) {
    v1::RankSnapshot& ended = *known_.now.add_ranks();
    ended.set_rank(static_cast<uint32_t>(1 + i));
    ended.set_state(v1::RANK_STATE_ENDED);
    ended.set_ended_ms(known_.now.time_ms() - 20'000);
  }
  EXPECT_EQ(
      Says(),
      "wrong: rank 0 (host1) has not ended: it waits for a lock, another thread or another "
      "process in _shutdown (threading.py:1583); the 2 others ended with 0, the last 20 s ago");
}

// The main threads have used this CPU time of five seconds; all except the last rank wait in an
// all-reduce. The job makes steps.
class StragglerTest : public StandstillTest {
 protected:
  void Uses(const std::vector<int>& milliseconds) {
    for (size_t i = 0; i < milliseconds.size(); ++i) {
      ProcessState now =
          i + 1 < milliseconds.size() ? AllReduce() : ProcessState{.state = "running"};
      ProcessState before = now;
      before.more = Worked(10'000, 7'000);
      now.more = Worked(15'000, 7'000 + milliseconds[i]);
      Rank({now}, {{before}});
    }
  }
  // `last_cpu`: cores that the last rank used before the looks; the others: 0.3.
  std::string SaysOfSteps(uint64_t steps = 10, double last_cpu = 0.9) {
    known_.before = known_.now;
    const int last = known_.before->ranks_size() - 1;
    for (int i = 0; i <= last; ++i) {
      known_.before->mutable_ranks(i)->mutable_sample()->set_cpu(i == last ? last_cpu : 0.3);
    }
    known_.before->mutable_progress()->set_step(7);
    known_.now.mutable_progress()->set_step(7 + steps);
    return Judge(known_).issue().what();
  }
};

TEST_F(StragglerTest, ARankThatComputesMuchMoreIsAwaited) {
  Uses({1'500, 1'400, 1'600, 4'300});
  EXPECT_EQ(SaysOfSteps(),
            "rank 3 (host4) keeps the others waiting in each step: it computes 86 % of the time, "
            "the others 30 %");
}

TEST_F(StragglerTest, WithoutFramesMostOthersMustBeFoundWaiting) {
  const auto rank = [&](const char* state, int milliseconds) {
    ProcessState now{.state = state};
    ProcessState before = now;
    before.more = Worked(10'000, 7'000);
    now.more = Worked(15'000, 7'000 + milliseconds);
    Rank({now}, {{before}});
  };
  const Known nothing = known_;
  const auto says = [&](const char* second) {
    known_ = nothing;
    rank("sleeping in futex_do_wait, system call 202", 1'500);
    rank(second, 1'400);
    rank("running", 1'600);
    rank("running", 4'300);
    return SaysOfSteps();
  };
  EXPECT_THAT(says("sleeping in futex_do_wait, system call 202"),
              StartsWith("rank 3 (host4) keeps the others waiting in each step"));
  EXPECT_EQ(says("running"), "nothing is wrong: steps continue");
}

TEST_F(StragglerTest, GdbFindsEveryRankInTheCollective) {
  for (const int milliseconds : {1'500, 1'400, 1'600, 4'300}) {
    ProcessState now{.gdb = "    #0  0x01 in c10d::Work::wait () from /x/libtorch.so\n"};
    ProcessState before = now;
    before.more = Worked(10'000, 7'000);
    now.more = Worked(15'000, 7'000 + milliseconds);
    Rank({now}, {{before}});
  }
  EXPECT_THAT(SaysOfSteps(), StartsWith("rank 3 (host4) keeps the others waiting in each step"));
}

TEST_F(StragglerTest, ASingleOtherRankIsNotSaidToBeSeveral) {
  Uses({1'500, 4'300});
  EXPECT_EQ(SaysOfSteps(),
            "rank 1 (host2) keeps the other rank waiting in each step: it computes 86 % of the "
            "time, the other rank 30 %");
}

// A rank that writes its output, evaluates or saves for a moment is no straggler.
TEST_F(StragglerTest, MoreWorkForAMomentHoldsNobodyUp) {
  Uses({1'500, 1'400, 1'600, 4'300});
  EXPECT_EQ(SaysOfSteps(1), "nothing is wrong: steps continue");
  EXPECT_EQ(SaysOfSteps(10, 0.3), "nothing is wrong: steps continue");
}

// The second look stops no rank of a job that goes on.
TEST_F(StragglerTest, FramesOfTheFirstLookAreUsed) {
  Uses({1'500, 1'400, 1'600, 4'300});
  for (v1::WholeStack& stack : known_.stacks) {
    std::string text = stack.text().substr(0, stack.text().find("  user-space stacks"));
    stack.set_text("no user-space stacks: none were requested\n" + text);
  }
  EXPECT_EQ(SaysOfSteps(),
            "rank 3 (host4) keeps the others waiting in each step: it computes 86 % of the time, "
            "the others 30 %");
  const v1::Issue issue = Judge(known_).issue();
  EXPECT_TRUE(std::ranges::any_of(issue.evidence(), [](const v1::Evidence& one) {
    return one.value().starts_with("all_reduce") && one.source() == "py-spy, /proc";
  }));
}

TEST_F(StragglerTest, NoRankStandsOut) {
  Uses({3'900, 4'100, 4'000, 4'800});
  EXPECT_EQ(SaysOfSteps(), "nothing is wrong: steps continue");
}

TEST_F(StragglerTest, StepsWithLittleComputation) {
  Uses({100, 100, 100, 900});
  EXPECT_EQ(SaysOfSteps(), "nothing is wrong: steps continue");
}

TEST_F(StragglerTest, ARankThatDrivesAGpuMayWaitForIt) {
  Uses({1'500, 1'400, 1'600, 4'300});
  known_.now.mutable_ranks(3)->add_gpus(0);
  EXPECT_EQ(SaysOfSteps(), "nothing is wrong: steps continue");
}

TEST_F(StandstillTest, AHeldOrFrozenRank) {
  Ranks(2, AllReduce());
  ProcessState held{
      .state = "tracing stop in ptrace_stop", .frames = "", .more = "  held by gdb (4711)\n"};
  Rank({held});
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) is held by a debugger, gdb (4711); the 2 others wait in an "
            "all-reduce");
  known_ = {};
  known_.now.set_time_ms(1'800'000'000'000);
  Ranks(2, AllReduce());
  Rank({ProcessState{.state = "disk sleep in __refrigerator", .frames = ""}});
  EXPECT_EQ(Says(),
            "wrong: rank 2 (host3) is frozen, with its control group; the 2 others wait in an "
            "all-reduce");
}

TEST_F(StandstillTest, PacketLoss) {
  const auto sent = [](const std::string& text) {
    ProcessState one = AllReduce();
    one.more = "  sent again to 10.0.0.3: " + text + "\n";
    return std::vector<ProcessState>{one};
  };
  Rank(sent("7 of 90 segments, unanswered 6"), sent("6 of 90 segments, unanswered 5"));
  Ranks(2, AllReduce());
  EXPECT_EQ(
      Says(),
      "wrong: between host1 and 10.0.0.3 the network loses what ranks send: it was sent again "
      "5 times without an answer");
  // py-spy has failed in one of the samples.
  known_ = {};
  known_.now.set_time_ms(1'800'000'000'000);
  std::vector<ProcessState> without_frames = sent("7 of 90 segments, unanswered 0");
  without_frames[0].frames = "";
  Rank(sent("47 of 500 segments, unanswered 0"), without_frames);
  Ranks(2, AllReduce());
  EXPECT_THAT(Says(), StartsWith("wrong: the network loses part of what host1 sends"));
  known_ = {};
  known_.now.set_time_ms(1'800'000'000'000);
  Rank(sent("47 of 500 segments, unanswered 0"), sent("7 of 90 segments, unanswered 0"));
  Ranks(2, AllReduce());
  EXPECT_EQ(
      Says(),
      "wrong: the network loses part of what host1 sends to 10.0.0.3: 40 of 410 segments were "
      "sent again between two samples");
  known_ = {};
  known_.now.set_time_ms(1'800'000'000'000);
  // As on a busy machine.
  Rank(sent("13 of 496 segments, unanswered 0"), sent("7 of 90 segments, unanswered 0"));
  Ranks(2, AllReduce());
  EXPECT_EQ(Says().find("wrong"), std::string::npos);
}

TEST_F(StandstillTest, TheRankThatOthersTimedOutOn) {
  Ranks(1, AllReduce());
  Rank({Sleeps()});
  known_.stacks_earlier.clear();
  EXPECT_EQ(WhoIsMissing(known_), "rank 1 (host2) sleeps in stuck (train.py:12)");
  known_.now.mutable_ranks(1)->set_last_line(
      "[rank1]:[E1126 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation "
      "timeout");
  EXPECT_EQ(WhoIsMissing(known_), "");
  // A warning of every barrier.
  known_.now.mutable_ranks(1)->set_last_line(
      "[rank1]:[W1126 ProcessGroupNCCL.cpp:4561] [Rank 1] using GPU 1 to perform barrier");
  EXPECT_EQ(WhoIsMissing(known_), "rank 1 (host2) sleeps in stuck (train.py:12)");
  known_.now.mutable_ranks(1)->clear_last_line();
  known_.now.mutable_ranks(1)->set_failure("Timed out waiting 1800000ms");
  EXPECT_EQ(WhoIsMissing(known_), "");
}

// On a busy machine gdb may exceed the time limit of a sample.
TEST_F(StandstillTest, TheOnlyRankThatHasNotTimedOutIsNamedWithoutItsStack) {
  Ranks(4, AllReduce());
  known_.stacks.clear();
  known_.stacks_earlier.clear();
  EXPECT_EQ(WhoIsMissing(known_), "");
  for (const int rank : {0, 1}) known_.now.mutable_ranks(rank)->set_failure("Timed out");
  EXPECT_EQ(WhoIsMissing(known_), "");
  known_.now.mutable_ranks(3)->set_state(v1::RANK_STATE_FAILED);
  EXPECT_EQ(WhoIsMissing(known_), "rank 2 (host3) did not come");
}

}  // namespace
}  // namespace autodist::why
