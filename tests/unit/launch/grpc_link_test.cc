// Sessions with agents that break the protocol.
#include "launch/grpc_link.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>

#include "base/exceptions.h"
#include "support/grpc_server.h"

namespace autodist::launch {
namespace {

constexpr std::chrono::seconds kLimit{60};

// A stream whose socket gRPC has taken over.
class TakenStream final : public transport::Stream {
 public:
  base::UniqueFd TakeSocket() override { return {}; }
  std::string StderrTail() const override { return ""; }
  bool WaitClosed(base::Deadline) override { return true; }
  Status Failure() const override { return OkStatus(); }
};

// An agent that sends an event before it has received a message.
class EagerAgent final : public v1::AgentService::CallbackService {
 private:
  class Reactor final : public grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent> {
   public:
    Reactor() { StartWrite(&event_); }

   private:
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
    const v1::AgentEvent event_;
  };

  grpc::ServerBidiReactor<v1::ChiefMessage, v1::AgentEvent>* Session(
      grpc::CallbackServerContext*) override {
    return new Reactor;
  }
};

// Breaks the session at its first event, as for a broken rule.
class BreakingListener final : public SessionListener {
 public:
  explicit BreakingListener(NodeLink& link) : link_(link) {}

  // Without a lock before it, which would hide a race with Break.
  void OnEvent(v1::AgentEvent) override { link_.Break(); }
  void OnClosed(Status) override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool AwaitClosed() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, [this] { return closed_; });
  }

 private:
  NodeLink& link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
};

class WarningAgent final : public v1::AgentService::Service {
  grpc::Status Prepare(grpc::ServerContext*, const v1::PrepareRequest*,
                       v1::PrepareResponse* response) override {
    response->add_warnings("a\n\x1b[2Jb");
    return grpc::Status::OK;
  }
};

TEST(GrpcLinkTest, TextsOfResponsesAreEscaped) {
  WarningAgent agent;
  test::GrpcServer server({&agent});
  GrpcLink link(std::make_unique<TakenStream>(), server.Channel());
  const auto prepared = link.Prepare({}, base::Deadline::After(kLimit), {});
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  EXPECT_EQ(prepared->warnings(0), "a\\n\\x1b[2Jb");
}

class ThrowingListener final : public SessionListener {
 public:
  void OnEvent(v1::AgentEvent) override { throw std::out_of_range("map::at"); }
  void OnClosed(Status) override {}
};

// Otherwise the test fails under ThreadSanitizer, or hangs with an open session.
TEST(GrpcLinkTest, ASessionCanBeBrokenByItsFirstEvent) {
  constexpr int kSessions = 100;
  EagerAgent agent;
  test::GrpcServer server({&agent});
  for (int i = 0; i < kSessions; ++i) {
    GrpcLink link(std::make_unique<TakenStream>(), server.Channel());
    BreakingListener listener(link);
    link.OpenSession(listener);
    ASSERT_TRUE(listener.AwaitClosed()) << i;
  }
}

// gRPC would swallow it, and the session would receive nothing more.
TEST(GrpcLinkTest, AnExceptionOfTheListenerIsPassedOn) {
  EagerAgent agent;
  test::GrpcServer server({&agent});
  std::promise<void> thrown;
  base::SetExceptionHandler([&](const std::exception_ptr&) { thrown.set_value(); });
  {
    ThrowingListener listener;
    GrpcLink link(std::make_unique<TakenStream>(), server.Channel());
    link.OpenSession(listener);
    EXPECT_EQ(thrown.get_future().wait_for(kLimit), std::future_status::ready);
  }
  base::SetExceptionHandler(nullptr);
}

}  // namespace
}  // namespace autodist::launch
