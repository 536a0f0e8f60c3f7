#include "chief/input/rank_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "agent_sim/events.h"
#include "support/plans.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kRank = 3;  // on member 1
constexpr uint32_t kMember = 1;

class Person final : public control::TerminalUser {
 public:
  explicit Person(uint32_t rank = kRank) {
    first_.set_rank(rank);
    first_.set_rows(24);
    first_.set_columns(80);
  }
  std::string who() const override { return "the user"; }
  v1::TerminalInput first() const override { return first_; }
  void OnAttached() override { ++yours; }
  void OnTaken(uint64_t bytes) override { taken += bytes; }
  void OnEnd(const Status& why) override { ends.push_back(why); }

  int yours = 0;
  uint64_t taken = 0;
  std::vector<Status> ends;

 private:
  v1::TerminalInput first_;
};

class RankInputTest : public testing::Test {
 protected:
  static Attempt AttemptWith(v1::StdinKind kind, std::vector<uint32_t> nodes = {0, 1, 2}) {
    plan::Input input = test::ThreeNodeInput();
    input.request.set_stdin_rank(kRank);
    input.stdin_kind = kind;
    const auto plan = std::make_shared<v1::LaunchPlan>(*plan::MakePlan(input));
    return Attempt(0, plan, std::move(nodes), "/logs", 15, std::chrono::seconds(1),
                   [](uint32_t, const v1::ChiefMessage&, const SharedValue&) {});
  }
  RankInput Make(std::shared_ptr<Person> first = nullptr) {
    return RankInput(
        [this](uint32_t node, v1::ChiefMessage message) {
          nodes_.push_back(node);
          sent_.push_back(message.rank_input());
        },
        std::move(first));
  }
  static v1::AgentEvent Started(uint32_t rank = kRank) { return test::RankStarted(rank); }
  static v1::AgentEvent Exited() { return test::RankExited(kRank); }
  static v1::AgentEvent Taken(uint64_t bytes, bool closed = false) {
    v1::AgentEvent event;
    event.mutable_input_taken()->set_rank(kRank);
    event.mutable_input_taken()->set_bytes(bytes);
    event.mutable_input_taken()->set_closed(closed);
    return event;
  }
  static v1::TerminalInput Typed(const std::string& data) {
    v1::TerminalInput input;
    input.set_data(data);
    return input;
  }

  std::vector<uint32_t> nodes_;
  std::vector<v1::RankInput> sent_;
  const std::shared_ptr<Person> person_ = std::make_shared<Person>();
};

TEST_F(RankInputTest, ATerminalIsSizedBeforeTheRankStartsAndRawWhileItRuns) {
  RankInput input = Make(person_);
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_TERMINAL, {0, 7, 2}));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_THAT(nodes_, ElementsAre(7));
  EXPECT_EQ(sent_[0].size().columns(), 80u);
  EXPECT_EQ(person_->yours, 0);
  input.Take(kMember, Started());
  input.Take(kMember, Started());
  EXPECT_EQ(person_->yours, 1);
  input.Give(*person_, Typed("n\r"));
  EXPECT_EQ(sent_[1].data(), "n\r");
  input.Take(kMember, Exited());
  EXPECT_THAT(person_->ends, ElementsAre(OkStatus()));
  input.Give(*person_, Typed("late"));
  EXPECT_EQ(sent_.size(), 2u);
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_TERMINAL));  // a restart
  input.Take(kMember, Started());
  EXPECT_EQ(person_->yours, 2);
}

TEST_F(RankInputTest, ReportsTheBytesTakenAndRefusesLies) {
  RankInput input = Make(person_);
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_PIPE));
  input.Take(kMember, Started());
  input.Give(*person_, Typed("12345"));
  input.Take(kMember, Taken(3));
  EXPECT_EQ(person_->taken, 3u);
  input.Take(kMember, Taken(6));  // more than was sent
  input.Take(kMember, Taken(2));  // less than before
  input.Take(0, Taken(5));        // from another node
  EXPECT_EQ(person_->taken, 3u);
  input.Give(*person_, {}, true);
  EXPECT_TRUE(sent_.back().end());
  input.Take(kMember, Taken(5, true));
  EXPECT_EQ(person_->taken, 5u);
  EXPECT_THAT(person_->ends, ElementsAre(OkStatus()));
}

TEST_F(RankInputTest, OneClientAtATime) {
  RankInput input = Make();
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_TERMINAL));
  input.Take(kMember, Started());
  const auto first = std::make_shared<Person>();
  const auto second = std::make_shared<Person>();
  input.Use(first);
  EXPECT_EQ(first->yours, 1);
  EXPECT_EQ(sent_.back().size().rows(), 24u);
  input.Use(second);
  EXPECT_EQ(Message(second->ends.at(0)), "the user is at the terminal of rank 3 already");
  const size_t before = sent_.size();
  input.Give(*second, Typed("not mine"));
  input.Leave(*second);
  EXPECT_EQ(sent_.size(), before);
  input.Leave(*first);
  const auto third = std::make_shared<Person>();
  input.Use(third);
  EXPECT_EQ(third->yours, 1);
  EXPECT_THAT(first->ends, IsEmpty());
}

// A client may connect before the ranks start, right after --detach.
TEST_F(RankInputTest, AnEarlyClientWaitsForTheStartOfTheRank) {
  RankInput input = Make();
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_TERMINAL));
  input.Use(person_);
  EXPECT_EQ(sent_.at(0).size().rows(), 24u);
  EXPECT_EQ(person_->yours, 0);
  input.Take(kMember, Started());
  EXPECT_EQ(person_->yours, 1);
  input.Take(kMember, Exited());
  EXPECT_THAT(person_->ends, ElementsAre(OkStatus()));
  input.Use(person_);
  EXPECT_EQ(Message(person_->ends.at(1)), "rank 3 does not run");
}

TEST_F(RankInputTest, ReasonsForRefusingAClient) {
  RankInput input = Make();
  const auto why_not = [&](uint32_t rank) {
    const auto person = std::make_shared<Person>(rank);
    input.Use(person);
    EXPECT_EQ(person->ends.size(), 1u);
    return Message(person->ends.at(0)) + "; " + Remedy(person->ends.at(0));
  };
  EXPECT_THAT(why_not(0), HasSubstr("rank 0 was started without a terminal; `autodist run "
                                    "--stdin-rank 0` gives it one"));
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_PIPE));
  input.Take(kMember, Started());
  EXPECT_THAT(why_not(kRank), HasSubstr("its input is piped into `autodist run`"));
  EXPECT_THAT(why_not(0), HasSubstr("rank 0 was started without a terminal"));
}

TEST_F(RankInputTest, ClientsAreNotifiedOfTheEndOfAnAttempt) {
  RankInput input = Make();
  input.BeginAttempt(AttemptWith(v1::STDIN_KIND_TERMINAL));
  input.Take(kMember, Started());
  input.Use(person_);
  input.EndAttempt();  // for example its node is lost
  EXPECT_EQ(person_->ends.size(), 1u);
}

}  // namespace
}  // namespace autodist::chief
