#include "chief/policy/restart_policy.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Cause::Kind;

constexpr seconds kLong{61};
constexpr RestartLimits kActs{.max_restarts = 9, .acts = true};

// Builds the outcome of an attempt.
struct Past {
  AttemptOutcome outcome;

  Past(Kind kind) {
    outcome.cause.kind = kind;
    outcome.ran = true;
    outcome.enough = outcome.node_replaceable = true;
    outcome.lasted = seconds(1);
  }
  Past& Of(const std::string& failure) { return outcome.failure = failure, *this; }
  Past& On(uint32_t node) { return outcome.node = node, *this; }
  Past& At(uint64_t step) { return outcome.step = step, *this; }
  Past& Saved() { return outcome.checkpoint = true, *this; }
  Past& Lasted(milliseconds time) { return outcome.lasted = time, *this; }
  Past& Everywhere() { return outcome.everywhere = true, *this; }
  Past& Missing() { return outcome.nodes_missing = true, *this; }
  Past& NotEnough() { return outcome.enough = false, Needed(); }  // nodes, even if some return
  Past& Needed() { return outcome.node_replaceable = false, *this; }
  Past& NeverRan() { return outcome.ran = false, *this; }
  Past& OutOfMemory() {
    outcome.cause.exit.mutable_out_of_memory();
    return *this;
  }
};

Past Failed(const std::string& failure = "") { return Past(Kind::kRankFailed).Of(failure); }
Past Lost(uint32_t node) { return Past(Kind::kNodeLost).On(node); }
Past Hung() { return Past(Kind::kHung); }

Past FaultyGpu(uint32_t node) {
  Past past = Failed().On(node);
  past.outcome.faulty_gpu = true;
  return past;
}
Past InUnit(const std::string& unit, uint32_t node) {
  Past past = Failed("CUDA error, train.py:9").On(node);
  past.outcome.gpu_unit = unit;
  return past;
}

RestartDecision After(const RestartLimits& limits, const std::vector<Past>& history) {
  RestartPolicy policy(limits);
  RestartDecision last;
  for (const Past& past : history) last = policy.Next(past.outcome);
  return last;
}

struct History {
  const char* what;
  std::vector<Past> attempts;
  std::optional<Futility> expected;  // after the last attempt
};

const std::vector<History>& Histories() {
  const std::string key = "KeyError, train.py:24";
  const std::string other = "KeyError, train.py:31";
  static const std::vector<History> kHistories = {
      {"one failure", {Failed(key)}, {}},
      {"the same failure twice", {Failed(key), Failed(key)}, Futility::kSameFailure},
      {"another place", {Failed(key), Failed(other)}, {}},
      {"the same again after another",
       {Failed(key), Failed(other), Failed(key)},
       Futility::kNoProgress},
      {"the same failure, further on", {Failed(key).At(10), Failed(key).At(20)}, {}},
      {"the same failure at the same step",
       {Failed(key).At(10), Failed(key).At(10)},
       Futility::kSameFailure},
      {"the same failure at an earlier step",
       {Failed(key).At(10), Failed(key).At(7)},
       Futility::kSameFailure},
      {"the same failure after a checkpoint", {Failed(key).Saved(), Failed(key).Saved()}, {}},
      {"a checkpoint, but no further step", {Failed(key).At(10), Failed(key).At(9).Saved()}, {}},
      {"the same failure after long attempts without known steps",
       {Failed(key).Lasted(kLong), Failed(key).Lasted(kLong)},
       {}},
      {"a long attempt whose steps are known does not count by itself",
       {Failed(key).At(5).Lasted(kLong), Failed(key).At(5).Lasted(kLong)},
       Futility::kSameFailure},
      {"long attempts that resume and count their steps from 0",
       {Failed(key).At(500).Lasted(kLong), Failed(key).At(300).Lasted(kLong),
        Failed(key).At(200).Lasted(kLong), Failed(key).At(100).Lasted(kLong)},
       {}},
      {"long attempts that no longer come to a step",
       {Failed(key).At(50), Failed(other).Lasted(kLong), Failed("a").Lasted(kLong),
        Failed("b").Lasted(kLong)},
       Futility::kNoProgress},
      {"an unknown failure twice", {Failed(), Failed()}, {}},
      {"an unknown failure three times", {Failed(), Failed(), Failed()}, Futility::kNoProgress},
      {"three different failures",
       {Failed(key), Failed(other), Failed("IndexError, a.py:1")},
       Futility::kNoProgress},
      {"steps stand still for two attempts", {Failed().At(9), Failed().At(9), Failed().At(9)}, {}},
      {"steps stand still for three attempts",
       {Failed().At(9), Failed().At(9), Failed().At(9), Failed().At(9)},
       Futility::kNoProgress},
      {"the last of three makes a step",
       {Failed().At(9), Failed().At(9), Failed().At(9), Failed().At(10)},
       {}},
      {"a node lost twice", {Lost(1), Lost(1)}, {}},
      {"nodes lost three times before any step",
       {Lost(1), Lost(2), Lost(3)},
       Futility::kNoProgress},
      {"nodes lost after steps", {Lost(1).At(10), Lost(2).At(20), Lost(3).At(30)}, {}},
      {"two hangs", {Hung(), Hung()}, {}},
      {"three hangs without a step", {Hung(), Hung(), Hung()}, Futility::kNoProgress},
      {"a hang between two equal failures",
       {Failed(key), Hung(), Failed(key)},
       Futility::kNoProgress},
      {"a hang after steps", {Hung().At(100), Hung().At(200), Hung().At(300)}, {}},
      {"all ranks fail at once", {Failed(key).Everywhere()}, Futility::kFailedEverywhere},
      {"all ranks fail at once after a step", {Failed(key).Everywhere().At(1)}, {}},
      {"all ranks fail at once in the second attempt",
       {Failed().At(5), Failed(key).Everywhere()},
       {}},
      {"all ranks fail at once after a loss before the first step",
       {Lost(1), Failed(key).Everywhere()},
       Futility::kFailedEverywhere},
      {"out of memory", {Failed(key).OutOfMemory()}, Futility::kOutOfMemory},
      {"out of memory after progress", {Failed(key).At(7).OutOfMemory()}, Futility::kOutOfMemory},
      {"a failure, then out of memory",
       {Failed(key), Failed().OutOfMemory()},
       Futility::kOutOfMemory},
      {"the first step comes late", {Failed(), Failed(), Failed().At(1)}, {}},
      {"a job that always gets a little further",
       {Failed(key).At(1), Failed(key).At(2), Failed(key).At(3), Failed(key).At(4)},
       {}},
      {"a job that starts over each time",
       {Failed(key).At(50), Failed(other).At(40), Failed("a").At(45), Failed("b").At(30)},
       Futility::kNoProgress},
  };
  return kHistories;
}

TEST(RestartPolicyTest, AnAttemptThatCanHardlySucceedIsNotMade) {
  for (const History& history : Histories()) {
    const RestartDecision decision = After(kActs, history.attempts);
    EXPECT_EQ(decision.futility, history.expected) << history.what;
    EXPECT_EQ(decision.wait.has_value(), !history.expected) << history.what;
  }
}

TEST(RestartPolicyTest, ByDefaultInferencesOnlyWarn) {
  for (const History& history : Histories()) {
    const RestartDecision decision = After({.max_restarts = 9}, history.attempts);
    EXPECT_EQ(decision.futility, history.expected) << history.what;
    EXPECT_EQ(decision.wait.has_value(), history.expected != Futility::kOutOfMemory)
        << history.what;
  }
}

TEST(RestartPolicyTest, CheckpointsAreMentionedOnlyIfTheyAreKnown) {
  EXPECT_STREQ(TextOf(Futility::kNoProgress, false),
               "the last three attempts reported no new step");
  EXPECT_STREQ(TextOf(Futility::kNoProgress, true),
               "the last three attempts reported no new step and wrote no new checkpoint");
}

TEST(RestartPolicyTest, TheSameFailureIsWarnedOfOnce) {
  RestartPolicy policy({.max_restarts = 9});
  EXPECT_FALSE(policy.Next(Failed("KeyError, train.py:24").outcome).futility);
  EXPECT_EQ(policy.Next(Failed("KeyError, train.py:24").outcome).futility, Futility::kSameFailure);
  const RestartDecision third = policy.Next(Failed("KeyError, train.py:24").outcome);
  EXPECT_FALSE(third.futility);
  EXPECT_TRUE(third.wait);
  EXPECT_EQ(policy.Next(Failed("IndexError, a.py:1").outcome).futility, Futility::kNoProgress);
  EXPECT_EQ(policy.Next(Failed("IndexError, a.py:1").outcome).futility, Futility::kSameFailure);
}

TEST(RestartPolicyTest, LackOfMemoryIsRetriedOnRequest) {
  const RestartLimits limits{.max_restarts = 9, .acts = true, .after_out_of_memory = true};
  EXPECT_TRUE(After(limits, {Failed().OutOfMemory()}).wait);
}

TEST(RestartPolicyTest, AFailureIsRetriedUpToTheLimit) {
  RestartPolicy policy({.max_restarts = 2});
  EXPECT_TRUE(policy.Next(Failed().outcome).wait);
  EXPECT_TRUE(policy.Next(Hung().outcome).wait);
  EXPECT_FALSE(policy.Next(Lost(1).outcome).wait);
  EXPECT_EQ(policy.restarts_counted(), 2u);
}

TEST(RestartPolicyTest, ItIsKnownBeforeTheEndWhetherAnAttemptMayFollow) {
  const struct {
    RestartLimits limits;
    std::vector<Past> before;
    Past last;
    bool may_follow;
  } rows[] = {
      {{}, {}, Failed(), false},
      {{.max_restarts = 1}, {}, Failed(), true},
      {{.max_restarts = 1}, {Failed()}, Failed(), false},
      {{.max_restarts = 1}, {Failed()}, Hung(), false},
      {{.max_restarts = 1}, {Lost(1).Missing().NotEnough()}, Failed(), false},
      {{.max_restarts = 1}, {}, Failed().NeverRan(), false},
      {{.max_restarts = 2}, {Failed()}, Failed().NeverRan(), true},
      {{.max_restarts = 1}, {}, Failed().OutOfMemory(), false},
      {{.max_restarts = 1, .after_out_of_memory = true}, {}, Failed().OutOfMemory(), true},
      {{.max_restarts = 1}, {}, Past(Kind::kInterrupted), false},
      {{.min_nodes = 2}, {}, Failed(), false},
      {{.min_nodes = 2}, {Lost(1).Missing()}, Lost(2).NeverRan(), true},
      {{.max_restarts = 1, .after_node_loss = false}, {}, Lost(1), false},
      {{.max_restarts = 1, .after_node_loss = false}, {}, Failed(), true},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    RestartPolicy policy(rows[i].limits);
    for (const Past& past : rows[i].before) policy.Next(past.outcome);
    const AttemptOutcome& last = rows[i].last.outcome;
    EXPECT_EQ(policy.MayFollow(last.cause, last.ran), rows[i].may_follow) << i;
  }
}

TEST(RestartPolicyTest, ByDefaultNothingIsRetried) {
  EXPECT_FALSE(RestartPolicy({}).Next(Failed().outcome).wait);
}

TEST(RestartPolicyTest, FailuresThatARestartCannotFixAreFinal) {
  RestartPolicy policy({.max_restarts = 9});
  EXPECT_FALSE(policy.Next(Past(Kind::kInterrupted).outcome).wait);
  EXPECT_FALSE(policy.Next(Past(Kind::kTimedOut).outcome).wait);
  AttemptOutcome never_ran = Failed().outcome;
  never_ran.ran = false;
  EXPECT_FALSE(RestartPolicy({.max_restarts = 9}).Next(never_ran).wait);
  EXPECT_EQ(policy.restarts_counted(), 0u);
}

TEST(RestartPolicyTest, TheFirstRestartIsAtOnceAndTheWaitThenDoublesUpToALimit) {
  RestartPolicy policy({.max_restarts = 100});
  EXPECT_EQ(policy.Next(Failed().outcome).wait, milliseconds(0));
  milliseconds wait = RestartPolicy::kFirstWait;
  for (int i = 0; i < 7; ++i, wait *= 2) EXPECT_EQ(policy.Next(Failed().outcome).wait, wait);
  EXPECT_EQ(policy.Next(Failed().outcome).wait, RestartPolicy::kMaxWait);
  EXPECT_EQ(policy.Next(Failed().Lasted(RestartPolicy::kCrashLoop).outcome).wait,
            RestartPolicy::kMaxWait);
  EXPECT_EQ(policy.Next(Failed().Lasted(kLong).outcome).wait, milliseconds(0));
  EXPECT_EQ(policy.Next(Failed().outcome).wait, RestartPolicy::kFirstWait);
}

TEST(RestartPolicyTest, LossesOfNodesThatAreNotNeededDoNotCount) {
  RestartPolicy policy({.max_restarts = 1, .min_nodes = 2});
  for (uint32_t i = 0; i < 5; ++i) EXPECT_TRUE(policy.Next(Lost(i).Missing().outcome).wait);
  EXPECT_EQ(policy.restarts_counted(), 0u);
  EXPECT_TRUE(policy.Next(Failed().outcome).wait);  // with all nodes: it counts
  EXPECT_EQ(policy.restarts_counted(), 1u);
  EXPECT_FALSE(policy.Next(Lost(1).Missing().NotEnough().outcome).wait);
}

TEST(RestartPolicyTest, ANodeThatIsLostBeforeItsRanksStartIsReplaced) {
  EXPECT_TRUE(After({.min_nodes = 2}, {Lost(1).Missing().NeverRan()}).wait);
  EXPECT_FALSE(After({.max_restarts = 9}, {Failed().NeverRan()}).wait);
  // Ranks have run in an earlier attempt.
  EXPECT_TRUE(After({.max_restarts = 9}, {Failed("a"), Failed("b").NeverRan()}).wait);
}

TEST(RestartPolicyTest, ALostNodeEndsTheJobIfThatIsWanted) {
  RestartPolicy policy({.max_restarts = 3, .after_node_loss = false});
  EXPECT_TRUE(policy.Next(Failed().outcome).wait);
  EXPECT_FALSE(policy.Next(Lost(1).Missing().NotEnough().outcome).wait);
}

// Returns the node that is left out.
std::optional<uint32_t> LeftOut(const RestartLimits& limits, const std::vector<Past>& history) {
  const RestartDecision decision = After(limits, history);
  return decision.leave_out ? std::optional(decision.leave_out->node) : std::nullopt;
}

TEST(RestartPolicyTest, ANodeWithAFaultyGpuIsLeftOut) {
  const RestartLimits spares{.min_nodes = 2};
  EXPECT_EQ(LeftOut(spares, {FaultyGpu(3)}), 3u);
  EXPECT_EQ(LeftOut(spares, {FaultyGpu(3), FaultyGpu(1)}), 1u);
  EXPECT_TRUE(After(spares, {FaultyGpu(3)}).wait);
  // Nothing can replace it.
  EXPECT_EQ(LeftOut({.max_restarts = 9}, {FaultyGpu(3)}), std::nullopt);
  EXPECT_EQ(LeftOut({.max_restarts = 9, .min_nodes = 4}, {FaultyGpu(3).Needed()}), std::nullopt);
  EXPECT_FALSE(After({.min_nodes = 4}, {FaultyGpu(3).Needed()}).wait);

  RestartPolicy policy({.max_restarts = 1, .min_nodes = 2});
  EXPECT_TRUE(policy.Next(FaultyGpu(3).outcome).wait);
  EXPECT_EQ(policy.restarts_counted(), 0u);
}

TEST(RestartPolicyTest, TwoFailuresInTheSameUnitOfAGpuAreAFaultOfTheGpu) {
  const RestartLimits limits{.max_restarts = 9, .min_nodes = 2, .acts = true};
  const std::string unit = "0000:3b:00 GPC 1, TPC 2, SM 0";
  EXPECT_EQ(LeftOut(limits, {InUnit(unit, 3), InUnit(unit, 3)}), 3u);
  EXPECT_FALSE(After(limits, {InUnit(unit, 3), InUnit(unit, 3)}).futility);
  for (const Past& second : {InUnit("0000:3b:00 GPC 0, TPC 2, SM 0", 3), InUnit(unit, 1)}) {
    EXPECT_EQ(LeftOut(limits, {InUnit(unit, 3), second}), std::nullopt);
    EXPECT_EQ(After(limits, {InUnit(unit, 3), second}).futility, Futility::kSameFailure);
  }
  // A fault of the program.
  EXPECT_EQ(LeftOut(limits, {InUnit(unit, 3), InUnit(unit, 3).Everywhere()}), std::nullopt);
}

TEST(RestartPolicyTest, ANodeThatIsTheCauseTwiceIsLeftOut) {
  const RestartLimits limits{.max_restarts = 9, .min_nodes = 2, .acts = true};
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3)}), std::nullopt);
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3), Failed("b").On(3)}), 3u);
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3), Failed("b").On(2)}), std::nullopt);
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3), Failed("b").On(2), Failed("c").On(3)}),
            std::nullopt);
  EXPECT_EQ(LeftOut(limits, {Lost(3).Missing(), Lost(3).Missing()}), 3u);
  EXPECT_EQ(LeftOut(limits, {Lost(3).Missing(), Failed("a").On(3)}), std::nullopt);
  // All nodes are needed.
  EXPECT_EQ(LeftOut({.max_restarts = 9, .acts = true}, {Failed("a").On(3), Failed("b").On(3)}),
            std::nullopt);
  // An inference, so nothing is done by default.
  EXPECT_EQ(LeftOut({.max_restarts = 9, .min_nodes = 2}, {Failed("a").On(3), Failed("b").On(3)}),
            std::nullopt);
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3), Failed("b").On(3).Needed()}), std::nullopt);
  // The program fails, not the node.
  EXPECT_EQ(LeftOut(limits, {Failed("a").On(3), Failed("b").On(3).Everywhere()}), std::nullopt);
}

TEST(RestartPolicyTest, AFailureIsKnownByItsMessageWithoutValuesAndItsPlace) {
  const std::vector<std::pair<std::string, std::string>> same = {
      {"KeyError: 'label', train.py:24", "KeyError: 'image', train.py:24"},
      {"RuntimeError: loss is nan at step 12, train.py:41",
       "RuntimeError: loss is nan at step 977, train.py:41"},
      {"CUDA error 2 at 0x7fab12", "CUDA error 2 at 0x7fcd9"},
      {"ValueError: x, a.py:3 (the first of EG: 2 sub-exceptions)", "ValueError: x, a.py:3"},
      {"can't open", "can't open"},
      {"SystemExit, run.py:3", "SystemExit, run.py:3"},
  };
  for (const auto& [one, other] : same) EXPECT_EQ(FailureKey(one), FailureKey(other)) << one;
  const std::vector<std::pair<std::string, std::string>> different = {
      {"KeyError: 'label', train.py:24", "KeyError: 'label', train.py:25"},
      {"KeyError: 'label', train.py:24", "ValueError: 'label', train.py:24"},
      {"KeyError: 'label', train.py:24", "KeyError: 'label', model.py:24"},
      {"RuntimeError: CUDA error: ECC, train.py:9", "RuntimeError: NCCL error, train.py:9"},
      {"free(): invalid pointer", "double free or corruption"},
  };
  for (const auto& [one, other] : different) EXPECT_NE(FailureKey(one), FailureKey(other)) << one;
}

}  // namespace
}  // namespace autodist::chief
