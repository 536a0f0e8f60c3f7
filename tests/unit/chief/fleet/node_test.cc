// A node's connections to the service of a real agent.
#include "chief/fleet/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <vector>

#include "agent_sim/events.h"
#include "launch/grpc_link.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/message_rules.h"
#include "support/small_agent.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::chrono::seconds kLimit{60};

// A stream whose socket gRPC has taken over.
class TakenStream final : public transport::Stream {
 public:
  base::UniqueFd TakeSocket() override { return {}; }
  std::string StderrTail() const override { return ""; }
  bool WaitClosed(base::Deadline) override { return true; }
  Status Failure() const override { return OkStatus(); }
};

class NodeTest : public testing::Test, protected NodeListener {
 protected:
  ~NodeTest() override { node_.Disconnect(); }

  uint64_t Connect() {
    base::UniqueFd socket = agent_.server->Connect();
    socket_.Reset(dup(socket.get()));
    return node_.Connect(std::make_shared<launch::GrpcLink>(std::make_unique<TakenStream>(),
                                                            *rpc::ChannelOver(std::move(socket))));
  }
  // Breaks the connection like a lost link, and waits until both sides have noticed.
  void Break() {
    size_t before = 0;
    Change([&] { before = closed_.size(); });
    shutdown(socket_.get(), SHUT_RDWR);
    ASSERT_TRUE(Await([&] { return closed_.size() > before; }));
    agent_.events->WaitUntilDetached(base::Deadline::After(kLimit));
  }
  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, condition);
  }
  template <typename Action>
  void Change(Action action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }
  bool AwaitResumed(int times) {
    return Await([&] { return resumed_ == times; });
  }
  void Renew(uint64_t number) {
    v1::ChiefMessage renew;
    renew.mutable_renew_lease()->set_number(number);
    node_.SendIfConnected(renew);
    EXPECT_TRUE(Await([&] { return renewed_ == number; }));
  }
  static v1::ChiefMessage Signal(int signal) {
    v1::ChiefMessage message;
    message.mutable_signal()->set_signal(signal);
    message.mutable_signal()->set_hold_ms(60'000);
    return message;
  }
  void PushRank(uint32_t rank) { agent_.events->SendReliably(test::RankStarted(rank)); }
  void OnEvent(uint32_t, v1::AgentEvent event) override {
    Change([&] {
      resumed_ += event.has_resumed();
      if (event.has_lease_renewed()) renewed_ = event.lease_renewed().number();
      if (event.has_rank_started()) ranks_.push_back(event.rank_started().rank());
    });
  }
  void OnOutput(uint32_t, v1::Output output) override {
    Change([&] {
      EXPECT_EQ(output.offset(), output_.size());
      output_ += output.data();
    });
  }
  void OnClosed(uint32_t, uint64_t connection, Status status) override {
    Change([&] {
      closed_.push_back(connection);
      why_closed_ = std::move(status);
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int resumed_ = 0;
  uint64_t renewed_ = 0;
  std::vector<uint32_t> ranks_;
  std::string output_;
  std::vector<uint64_t> closed_;  // connections
  Status why_closed_;             // of the last one

  test::SmallAgent agent_;
  base::UniqueFd socket_;
  Loop loop_;
  Node node_{0, *this, loop_};
};

TEST_F(NodeTest, OrdersWithoutAConnectionAreExecutedOnceThereIsOne) {
  node_.SendReliably(Signal(SIGTSTP));
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  Renew(1);
  EXPECT_TRUE(agent_.paused);
}

TEST_F(NodeTest, OrdersAreExecutedOnceDespiteBreaks) {
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  node_.SendReliably(Signal(SIGTSTP));
  Renew(1);
  EXPECT_TRUE(agent_.paused);
  Break();
  node_.SendReliably(Signal(SIGCONT));
  agent_.paused = true;
  Connect();
  ASSERT_TRUE(AwaitResumed(2));
  Renew(2);
  EXPECT_FALSE(agent_.paused);
  Break();
  Connect();
  ASSERT_TRUE(AwaitResumed(3));
  Renew(3);
  EXPECT_FALSE(agent_.paused);  // neither was executed again
}

TEST_F(NodeTest, EventsArriveOnceAndInOrder) {
  PushRank(1);
  Connect();
  ASSERT_TRUE(Await([&] { return ranks_.size() == 1; }));
  Break();
  PushRank(2);
  PushRank(3);
  Connect();
  ASSERT_TRUE(Await([&] { return ranks_.size() == 3; }));
  Break();
  Connect();
  ASSERT_TRUE(AwaitResumed(3));
  PushRank(4);
  ASSERT_TRUE(Await([&] { return ranks_.size() == 4; }));
  EXPECT_THAT(ranks_, ElementsAre(1, 2, 3, 4));
}

TEST_F(NodeTest, AnAgentThatBreaksARuleIsDisconnected) {
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  agent_.events->SendReliably(test::RankExited(0, 256));
  PushRank(1);
  ASSERT_TRUE(Await([&] { return !closed_.empty(); }));
  EXPECT_TRUE(rpc::IsBrokenRule(why_closed_)) << Message(why_closed_);
  Connect();
  ASSERT_TRUE(Await([&] { return closed_.size() == 2; }));
  EXPECT_TRUE(rpc::IsBrokenRule(why_closed_)) << "it is not believed again";
  EXPECT_TRUE(ranks_.empty());
}

TEST_F(NodeTest, LargeRepliesThatShareAValueAreSentAsTheAgentReads) {
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  std::map<uint64_t, size_t> answered;
  const auto value = std::make_shared<const std::string>(1 << 20, 'v');
  constexpr uint64_t kReplies = 20;
  for (uint64_t i = 0; i < kReplies; ++i) {
    const uint64_t id = agent_.rendezvous->Ask({}, [&](const v1::RendezvousReply& reply) {
      Change([&] { answered[reply.id()] = reply.value().size(); });
    });
    v1::ChiefMessage message;
    message.mutable_rendezvous_reply()->set_id(id);
    node_.SendReliably(std::move(message), value);
  }
  EXPECT_TRUE(Await([&] { return answered.size() == kReplies; }));
  for (const auto& [id, size] : answered) EXPECT_EQ(size, value->size());
}

TEST_F(NodeTest, OutputResumesWhereItBroke) {
  auto pipe = base::Pipe();
  ASSERT_TRUE(base::SetNonBlocking(pipe->first.get()).ok());
  agent_.output->Begin(1 << 20);
  agent_.output->Add(0, std::move(pipe->first), {});
  const auto write = [&](const std::string& data) {
    EXPECT_TRUE(base::WriteAll(pipe->second.get(), data, base::Deadline::After(kLimit)).ok());
  };
  Connect();
  write("one");
  ASSERT_TRUE(Await([&] { return output_ == "one"; }));
  Break();
  write(" two");
  Connect();
  EXPECT_TRUE(Await([&] { return output_ == "one two"; }));
}

TEST_F(NodeTest, OutputWithAGapBreaksTheConnection) {
  auto pipe = base::Pipe();
  ASSERT_TRUE(base::SetNonBlocking(pipe->first.get()).ok());
  agent_.output->Begin(1 << 20);
  agent_.output->Add(0, std::move(pipe->first), {});
  const uint64_t connection = Connect();
  ASSERT_TRUE(AwaitResumed(1));
  ASSERT_TRUE(base::WriteAll(pipe->second.get(), "one", base::Deadline::After(kLimit)).ok());
  ASSERT_TRUE(Await([&] { return output_ == "one"; }));
  node_.BeginAttempt();  // the agent does not know of it
  Change([&] { output_.clear(); });
  ASSERT_TRUE(base::WriteAll(pipe->second.get(), "two", base::Deadline::After(kLimit)).ok());
  ASSERT_TRUE(Await([&] { return closed_.size() == 1; }));
  EXPECT_THAT(closed_, ElementsAre(connection));
  EXPECT_EQ(output_, "");
}

TEST_F(NodeTest, EachSessionSetsTheKeyOfTheNext) {
  const std::string first = node_.Greeting();
  EXPECT_THAT(first, SizeIs(rpc::kGreetingSize));
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  const std::string second = node_.Greeting();
  EXPECT_EQ(second, agent_.key() + agent_.key());
  EXPECT_EQ(second.find(first.substr(0, rpc::kKeySize)), std::string::npos);
}

TEST_F(NodeTest, AKeyThatTheAgentMayNotHaveIsTheSecond) {
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  const std::string known = agent_.key();
  // A connection that breaks before the agent has the next key.
  auto unread = base::StreamSocketPair();
  node_.Connect(std::make_shared<launch::GrpcLink>(std::make_unique<TakenStream>(),
                                                   *rpc::ChannelOver(std::move(unread->first))));
  const std::string greeting = node_.Greeting();
  EXPECT_EQ(greeting.substr(0, rpc::kKeySize), known);
  EXPECT_NE(greeting.substr(rpc::kKeySize), known);
}

TEST_F(NodeTest, TheAgentMayExitOnceItsEndWasHandled) {
  Connect();
  ASSERT_TRUE(AwaitResumed(1));
  v1::ChiefMessage shutdown;
  shutdown.mutable_shutdown();
  node_.SendReliably(shutdown);
  ASSERT_TRUE(Await([&] { return closed_.size() == 1; }));
  EXPECT_TRUE(agent_.events->WaitUntilDelivered(base::Deadline::After(kLimit)));
}

}  // namespace
}  // namespace autodist::chief
