// The contract between chief and agent about attempts: the same scenes with the real agent and with
// the simulated one, which tests of the chief use. Both must do the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent_sim/simulated_agent.h"
#include "support/chief_end.h"
#include "support/limit.h"
#include "support/small_agent.h"

namespace autodist::agent::contract_test {
namespace {

v1::PrepareRequest Request(uint64_t generation, bool takes_long) {
  v1::PrepareRequest request;
  request.set_working_directory("/");
  request.set_spool_limit(1 << 20);
  request.set_generation(generation);
  request.mutable_node()->set_data_address("127.0.0.1");
  if (takes_long) request.mutable_node()->add_environment()->set_activate("sleep 1000");
  v1::RankPlan& rank = *request.mutable_node()->add_ranks();
  rank.set_rank(7);
  for (const char* word : {"sleep", "1000"}) rank.add_argv(word);
  return request;
}

v1::ChiefMessage Order(const std::string& name, uint64_t generation) {
  v1::ChiefMessage message;
  if (name == "start") message.mutable_start()->set_generation(generation);
  if (name == "stop") message.mutable_stop()->set_generation(generation);
  if (name == "end") message.mutable_end()->set_generation(generation);
  if (name == "shutdown") message.mutable_shutdown();
  return message;
}

// "": an event that no scene is about.
std::string TextOf(const v1::AgentEvent& event) {
  if (event.has_rank_started()) return "started";
  if (event.has_rank_exited()) return "exited";
  if (event.has_ranks_ended()) {
    const uint64_t generation = event.ranks_ended().generation();
    return "ended " + (generation == UINT64_MAX ? "all" : std::to_string(generation));
  }
  return "";
}

class Side {
 public:
  virtual ~Side() = default;
  // Begins to prepare. A long one does not end by itself.
  virtual void Prepare(uint64_t generation, bool takes_long) = 0;
  // The answer to the preparation of this generation: "ready" or the code.
  virtual std::string Answer(uint64_t generation) = 0;
  virtual void Send(const v1::ChiefMessage& order) = 0;
  virtual void Reconnect() = 0;
  // Waits for the next event that a scene is about.
  virtual std::string Next() = 0;
};

class RealSide final : public Side {
 public:
  RealSide() { chief_->Resume(); }
  ~RealSide() override {
    for (auto& [generation, call] : calls_) call.context->TryCancel();
  }

  void Prepare(uint64_t generation, bool takes_long) override {
    Call& call = calls_[generation];
    call.status =
        std::async(std::launch::async, [this, &call, request = Request(generation, takes_long)] {
          v1::PrepareResponse response;
          return stub_->Prepare(call.context.get(), request, &response);
        });
    if (!takes_long) return call.status.wait();
    const auto limit = base::Deadline::After(test::kLimit);
    const int before = begun_++;
    while (agent_.silences_expected <= before && !limit.Expired()) std::this_thread::yield();
  }
  std::string Answer(uint64_t generation) override {
    const grpc::Status status = calls_.extract(generation).mapped().status.get();
    return status.ok() ? "ready" : std::to_string(status.error_code());
  }
  void Send(const v1::ChiefMessage& order) override { chief_->Order(order, ++orders_); }
  void Reconnect() override {
    const uint64_t instance = chief_->resumed().resumed().instance();
    const uint64_t taken = chief_->taken();
    chief_ = std::make_unique<test::ChiefEnd>(*stub_, taken);
    chief_->Resume("", instance);
  }
  std::string Next() override {
    for (;;) {
      const v1::AgentEvent event = chief_->Next();
      if (event.event_case() == v1::AgentEvent::EVENT_NOT_SET) return "the session ended";
      if (std::string text = TextOf(event); !text.empty()) return text;
    }
  }

 private:
  struct Call {
    std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
    std::future<grpc::Status> status;
  };

  test::SmallAgent agent_;
  const std::unique_ptr<v1::AgentService::Stub> stub_ =
      v1::AgentService::NewStub(agent_.server->Channel());
  std::map<uint64_t, Call> calls_;
  std::unique_ptr<test::ChiefEnd> chief_ = std::make_unique<test::ChiefEnd>(*stub_);
  int begun_ = 0;
  uint64_t orders_ = 0;
};

class SimulatedSide final : public Side, private test::SimulatedAgent {
 public:
  SimulatedSide() { Reconnect(); }

  void Prepare(uint64_t generation, bool takes_long) override {
    preparing_takes = std::chrono::hours(takes_long ? 1 : 0);  // never, without a clock
    SimulatedAgent::Prepare(Request(generation, takes_long), [this, generation](auto prepared) {
      answers_[generation] =
          prepared.ok() ? "ready" : std::to_string(static_cast<int>(prepared.status().code()));
    });
  }
  std::string Answer(uint64_t generation) override { return answers_.extract(generation).mapped(); }
  void Send(const v1::ChiefMessage& order) override {
    v1::ChiefMessage message = order;
    message.set_sequence(++orders_);
    Receive(message);
  }
  void Reconnect() override {
    v1::ChiefMessage resume;
    resume.mutable_resume()->set_instance(1);
    resume.set_acknowledged(taken_);
    Receive(resume);
  }
  std::string Next() override {
    while (!events_.empty()) {
      const v1::AgentEvent event = events_.front();
      events_.pop_front();
      taken_ = std::max(taken_, event.sequence());
      if (std::string text = TextOf(event); !text.empty()) return text;
    }
    return "nothing";
  }

 private:
  bool Deliver(v1::AgentEvent event) override {
    if (event.has_resumed()) events_.clear();  // of the session before
    events_.push_back(std::move(event));
    return true;
  }

  std::map<uint64_t, std::string> answers_;
  std::deque<v1::AgentEvent> events_;
  uint64_t taken_ = 0;
  uint64_t orders_ = 0;
};

// Executes the steps; returns what the agent answers and reports.
std::string Play(Side& side, const std::string& steps) {
  std::istringstream in(steps);
  std::string seen;
  for (std::string step; in >> step;) {
    if (step == "reconnect") {
      side.Reconnect();
    } else if (step == "next") {
      seen += side.Next() + "; ";
    } else {
      uint64_t generation = 0;
      in >> generation;
      if (step == "prepare") {
        side.Prepare(generation, false);
      } else if (step == "prepare-long") {
        side.Prepare(generation, true);
      } else if (step == "answer") {
        seen += side.Answer(generation) + "; ";
      } else {
        side.Send(Order(step, generation));
      }
    }
  }
  return seen;
}

struct Scene {
  const char* name;
  const char* steps;
  const char* seen;  // 1: CANCELLED, 9: FAILED_PRECONDITION
};

class ContractTest : public testing::TestWithParam<Scene> {};

TEST_P(ContractTest, BothAgentsDoTheSame) {
  RealSide real;
  SimulatedSide simulated;
  EXPECT_EQ(Play(real, GetParam().steps), GetParam().seen);
  EXPECT_EQ(Play(simulated, GetParam().steps), GetParam().seen);
}

INSTANTIATE_TEST_SUITE_P(
    Scenes, ContractTest,
    testing::Values(
        Scene{"AnAttempt", "prepare 1 answer 1 start 1 next end 1 next next",
              "ready; started; exited; ended 1; "},
        Scene{
            "PrepareWhileRanksRun",
            "prepare 1 answer 1 start 1 next prepare 2 answer 2 end 1 next next prepare 3 answer 3",
            "ready; started; 9; exited; ended 1; ready; "},
        Scene{"PrepareWhileBusy",
              "prepare-long 1 prepare 2 answer 1 answer 2 start 1 start 2 next end 2 next next",
              "1; ready; started; exited; ended 2; "},
        Scene{"EndBesidePrepare",
              "prepare-long 1 end 1 next answer 1 prepare 2 answer 2 start 2 next end 2 next next",
              "ended 1; 1; ready; started; exited; ended 2; "},
        Scene{"OrdersOfAnEarlierPlan",
              "prepare 2 answer 2 start 1 end 1 start 2 next stop 1 end 1 end 2 next next",
              "ready; started; exited; ended 2; "},
        Scene{"APlanThatComesLate", "prepare 5 answer 5 prepare 4 answer 4 start 5 next",
              "ready; 9; started; "},
        Scene{
            "AnEndOfAllPlans",
            "prepare 2 answer 2 start 2 next end 5 next next prepare 4 answer 4 prepare 5 answer 5",
            "ready; started; exited; ended 5; 9; ready; "},
        Scene{"AnAgentThatReturns",
              "prepare 1 answer 1 start 1 next reconnect prepare 2 answer 2 end 2 next next "
              "prepare 3 "
              "answer 3",
              "ready; started; 9; exited; ended 2; ready; "},
        Scene{"AResumedSessionRepeatsNothing",
              "prepare 1 answer 1 start 1 next reconnect end 1 next next reconnect prepare 2 "
              "answer 2",
              "ready; started; exited; ended 1; ready; "},
        Scene{"NothingIsPreparedAfterShutdown",
              "prepare 1 answer 1 shutdown 1 next prepare 2 answer 2", "ready; ended all; 9; "}),
    [](const auto& scene) { return std::string(scene.param.name); });

}  // namespace
}  // namespace autodist::agent::contract_test
