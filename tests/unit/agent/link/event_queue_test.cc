// Events in consecutive sessions, with the agent's service around the queue.
#include "agent/link/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "support/chief_end.h"
#include "support/limit.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

using test::ChiefEnd;
using test::kLimit;
using test::Renew;
using testing::ElementsAre;

v1::AgentEvent Event(uint32_t rank) {
  v1::AgentEvent event;
  event.mutable_rank_started()->set_rank(rank);
  return event;
}

class EventQueueTest : public testing::Test {
 protected:
  void Push(uint32_t rank) { agent_.events->SendReliably(Event(rank)); }
  // Returns the ranks of this many events that come next.
  static std::vector<uint32_t> Ranks(ChiefEnd& chief, int count) {
    std::vector<uint32_t> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(chief.Next().rank_started().rank());
    return ranks;
  }

  test::SmallAgent agent_;
  const std::unique_ptr<v1::AgentService::Stub> stub_ =
      v1::AgentService::NewStub(agent_.server->Channel());
};

TEST_F(EventQueueTest, ANewSessionGetsTheRemainingEventsInOrder) {
  for (const uint32_t rank : {1u, 2u, 3u}) Push(rank);
  ChiefEnd first(*stub_);
  first.Resume();
  EXPECT_THAT(Ranks(first, 3), ElementsAre(1, 2, 3));
  first.Cancel();
  agent_.events->WaitUntilDetached(base::Deadline::At(base::Deadline::Clock::now() + kLimit));
  Push(4);
  ChiefEnd second(*stub_, 2);  // event 3 was lost on the way
  second.Resume("", first.resumed().resumed().instance());
  EXPECT_THAT(Ranks(second, 2), ElementsAre(3, 4));
  second.Send(Renew(1));
  EXPECT_TRUE(second.Next().has_lease_renewed());  // no duplicates
}

TEST_F(EventQueueTest, AnAcknowledgementOfAnotherAgentsEventsIsIgnored) {
  Push(1);
  ChiefEnd chief(*stub_, 1);
  chief.Resume("", 12345);
  EXPECT_THAT(Ranks(chief, 1), ElementsAre(1));
}

TEST_F(EventQueueTest, KnowsWhenItGaveEachOfTheLastAnswers) {
  const auto before = base::Deadline::Clock::now();
  EXPECT_EQ(agent_.events->AnsweredAt(0), std::nullopt);
  EXPECT_EQ(agent_.events->AnsweredAt(1), std::nullopt);
  ChiefEnd chief(*stub_);
  chief.Resume();
  uint64_t last = 0;
  for (uint64_t i = 1; i <= 100; ++i) {
    chief.Send(Renew(i));
    last = chief.Next().lease_renewed().answer();
    EXPECT_EQ(last, i + 1);  // the first one was Resumed
  }
  EXPECT_GE(agent_.events->AnsweredAt(last), before);
  EXPECT_LE(agent_.events->AnsweredAt(last - 1), agent_.events->AnsweredAt(last));
  EXPECT_EQ(agent_.events->AnsweredAt(1), std::nullopt);
  EXPECT_EQ(agent_.events->AnsweredAt(last + 1), std::nullopt);
}

TEST_F(EventQueueTest, AcknowledgedEventsAreNotRepeated) {
  ChiefEnd first(*stub_);
  first.Resume();
  for (const uint32_t rank : {1u, 2u, 3u}) Push(rank);
  EXPECT_THAT(Ranks(first, 3), ElementsAre(1, 2, 3));
  first.Send(Renew(1));
  EXPECT_TRUE(first.Next().has_lease_renewed());
  ChiefEnd second(*stub_);  // acknowledges no events
  second.Resume();
  Push(4);
  EXPECT_THAT(Ranks(second, 1), ElementsAre(4));
}

TEST_F(EventQueueTest, UnreliableEventsWithoutASessionAreDropped) {
  agent_.events->SendIfConnected(Event(1));
  ChiefEnd chief(*stub_);
  chief.Resume();
  Push(2);
  EXPECT_THAT(Ranks(chief, 1), ElementsAre(2));
  agent_.events->SendIfConnected(Event(3));
  EXPECT_THAT(Ranks(chief, 1), ElementsAre(3));
}

TEST_F(EventQueueTest, UnreliableEventsAreSentBeforeQueuedOnes) {
  ChiefEnd chief(*stub_);
  chief.Resume();
  constexpr int kEvents = 200;  // of a megabyte: most of them are queued, because no one reads
  for (int i = 0; i < kEvents; ++i) {
    v1::AgentEvent event;
    event.mutable_rank_stacks()->set_text(std::string(1 << 20, 'x'));
    agent_.events->SendReliably(std::move(event));
  }
  agent_.events->SendIfConnected(Event(1));
  int before = 0;
  while (!chief.Next().has_rank_started()) ASSERT_LT(++before, kEvents / 2);
}

TEST_F(EventQueueTest, OnlyTheNewestSampleIsQueued) {
  const auto send = [&](int64_t number) {
    v1::NodeSample sample;
    sample.set_time_ns(number);
    agent_.events->SendSample(std::move(sample));
  };
  send(1);  // without a session: dropped
  ChiefEnd chief(*stub_);
  chief.Resume();
  constexpr int kEvents = 200;  // of a megabyte: most of them are queued, because no one reads
  for (int i = 0; i < kEvents; ++i) {
    v1::AgentEvent event;
    event.mutable_rank_stacks()->set_text(std::string(1 << 20, 'x'));
    agent_.events->SendReliably(std::move(event));
  }
  constexpr int64_t kSamples = 10'000;
  for (int64_t i = 2; i <= kSamples; ++i) send(i);
  Push(1);  // for example a rank's end
  std::vector<int64_t> samples;
  for (v1::AgentEvent event = chief.Next(); !event.has_rank_started(); event = chief.Next()) {
    if (!event.has_sample()) continue;
    EXPECT_EQ(event.sequence(), 0u);
    samples.push_back(event.sample().time_ns());
  }
  // One may have been on the way before.
  ASSERT_THAT(samples.size(), testing::AllOf(testing::Ge(1u), testing::Le(2u)));
  EXPECT_EQ(samples.back(), kSamples);
}

// A writer without a call: data stays in `event`, and the test decides when it has been sent.
class WriterByHand final : public SessionWriter {
  void OnDone() override {}
};

TEST_F(EventQueueTest, ADeferrableSampleIsSentWithOtherEvents) {
  EventQueue queue(*agent_.output);
  const auto send = [&](int64_t number) {
    v1::NodeSample sample;
    sample.set_time_ns(number);
    queue.SendSample(std::move(sample));
  };
  WriterByHand writer;
  queue.Attach(&writer);
  queue.Resume(&writer, {});
  queue.WriteDone(&writer, true);
  queue.LetSamplesWait(true);
  send(1);
  send(2);
  EXPECT_TRUE(writer.event.has_resumed()) << writer.event.ShortDebugString();
  queue.SendIfConnected(Event(1));
  EXPECT_EQ(writer.event.rank_started().rank(), 1u);
  queue.WriteDone(&writer, true);
  EXPECT_EQ(writer.event.sample().time_ns(), 2);
  queue.WriteDone(&writer, true);
  send(3);
  queue.SendReliably(Event(2));
  EXPECT_EQ(writer.event.sample().time_ns(), 3);  // before the end of a rank in the sample
  queue.WriteDone(&writer, true);
  EXPECT_EQ(writer.event.rank_started().rank(), 2u);
  queue.WriteDone(&writer, true);
  queue.LetSamplesWait(false);
  send(4);
  EXPECT_EQ(writer.event.sample().time_ns(), 4);
}

TEST_F(EventQueueTest, OutputIsSentWhenNoEventIsQueued) {
  auto pipe = base::Pipe();
  ASSERT_TRUE(base::SetNonBlocking(pipe->first.get()).ok());
  agent_.output->Begin(1 << 20);
  agent_.output->Add(7, std::move(pipe->first), {});
  // More than the pipe buffers: some of it has been read when this returns.
  ASSERT_TRUE(base::WriteAll(pipe->second.get(), std::string(200'000, 'x'),
                             base::Deadline::At(base::Deadline::Clock::now() + kLimit))
                  .ok());
  for (const uint32_t rank : {1u, 2u, 3u}) Push(rank);
  ChiefEnd chief(*stub_);
  chief.Resume();
  for (const uint32_t rank : {1u, 2u, 3u}) {
    v1::AgentEvent event;
    ASSERT_TRUE(chief.Read(event));
    EXPECT_EQ(event.rank_started().rank(), rank) << event.has_output();
  }
  v1::AgentEvent event;
  ASSERT_TRUE(chief.Read(event));
  EXPECT_TRUE(event.has_output());
}

TEST_F(EventQueueTest, TheSessionEndsWhenAllIsAcknowledged) {
  ChiefEnd chief(*stub_);
  chief.Resume();
  agent_.events->Close(Event(1));
  Push(2);  // too late: it is not sent
  EXPECT_THAT(Ranks(chief, 1), ElementsAre(1));
  EXPECT_FALSE(agent_.events->WaitUntilDelivered(base::Deadline::After({})));
  chief.Send({});
  EXPECT_TRUE(chief.Finish().ok());
  Push(3);
  agent_.events->Close(Event(4));  // a second request to leave may have a last event
  EXPECT_TRUE(agent_.events->WaitUntilDelivered(base::Deadline::After({})));
}

TEST_F(EventQueueTest, AClosedQueueWaitsForASessionThatTakesTheRest) {
  agent_.events->Close(Event(1));
  {
    ChiefEnd first(*stub_);
    first.Resume();
    EXPECT_THAT(Ranks(first, 1), ElementsAre(1));
    first.Cancel();
    EXPECT_FALSE(first.Finish().ok());
  }
  ChiefEnd second(*stub_);
  second.Resume();
  EXPECT_THAT(Ranks(second, 1), ElementsAre(1));
  second.Send({});
  EXPECT_TRUE(second.Finish().ok());
}

TEST_F(EventQueueTest, AnOrderIsAcceptedOnceAcrossSessions) {
  v1::ChiefMessage stop;
  stop.mutable_signal()->set_signal(SIGTSTP);
  v1::ChiefMessage go_on;
  go_on.mutable_signal()->set_signal(SIGCONT);
  ChiefEnd first(*stub_);
  first.Resume();
  first.Order(stop, 1);
  first.Order(go_on, 2);
  first.Send(Renew(1));
  EXPECT_EQ(first.Next().acknowledged(), 2u);
  EXPECT_FALSE(agent_.paused);
  ChiefEnd second(*stub_);
  second.Resume();
  EXPECT_EQ(second.resumed().acknowledged(), 2u);
  second.Order(stop, 1);
  second.Send(Renew(2));
  EXPECT_EQ(second.Next().acknowledged(), 2u);
  EXPECT_FALSE(agent_.paused);
}

}  // namespace
}  // namespace autodist::agent
