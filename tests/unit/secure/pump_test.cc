#include "secure/pump.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <numeric>
#include <thread>

#include "support/forbid_threads.h"
#include "support/secure_peer.h"

namespace autodist::secure {
namespace {

using base::Deadline;

Deadline Limit() { return Deadline::After(test::kLimit); }

TEST(PumpThreadDeathTest, TheSignalMaskIsRestoredIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        const Status started = PumpThread::Start().status();
        sigset_t now;
        pthread_sigmask(SIG_SETMASK, nullptr, &now);
        const bool blocked = sigismember(&now, SIGTERM) != 0;
        _exit(started.code() == StatusCode::kResourceExhausted && !blocked ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// Both ends of a session, each connected to a local socket.
class PumpTest : public testing::Test {
 protected:
  void SetUp() override {
    auto sockets = base::StreamSocketPair();
    ASSERT_TRUE(sockets.ok());
    const Key key = Key::Random();
    auto caller = Session::OfClient(std::move(sockets->first), "node", key);
    auto called =
        Session::OfServer(std::move(sockets->second), [&](std::string_view) { return key; });
    std::thread thread([&] { EXPECT_TRUE(test::ShakeHands(*caller)); });
    EXPECT_TRUE(test::ShakeHands(*called));
    thread.join();
    near_ = *(*near_pumps_)->Add(std::move(caller));
    far_ = *(*far_pumps_)->Add(std::move(called));
  }

  static std::string ReadAll(int fd) {
    std::string text;
    char bytes[65536];
    for (;;) {
      const auto got = base::ReadSome(fd, bytes, sizeof bytes, Limit());
      EXPECT_TRUE(got.ok()) << got.status();
      if (!got.ok() || *got == 0) return text;
      text.append(bytes, *got);
    }
  }

  Result<std::shared_ptr<PumpThread>> near_pumps_ = PumpThread::Start();
  Result<std::shared_ptr<PumpThread>> far_pumps_ = PumpThread::Start();
  base::UniqueFd near_;
  base::UniqueFd far_;
};

TEST_F(PumpTest, AllBytesArePassedBothWaysAtTheSameTime) {
  std::string sent(20'000'000, '\0');
  std::iota(sent.begin(), sent.end(), '\0');
  const auto write = [&](const base::UniqueFd& to) {
    EXPECT_TRUE(base::WriteAll(to.get(), sent, Limit()).ok());
    shutdown(to.get(), SHUT_WR);
  };
  std::thread near_writer([&] { write(near_); });
  std::thread far_writer([&] { write(far_); });
  std::string near_got;
  std::thread near_reader([&] { near_got = ReadAll(near_.get()); });
  const std::string far_got = ReadAll(far_.get());
  for (std::thread* thread : {&near_writer, &far_writer, &near_reader}) thread->join();
  EXPECT_TRUE(near_got == sent && far_got == sent);
}

TEST_F(PumpTest, DataWrittenBeforeTheEndArrives) {
  const std::string sent(3'000'000, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(base::WriteAll(near_.get(), sent, Limit()).ok());
    near_.Reset();
    (*near_pumps_)->Stop(Limit());
  });
  EXPECT_TRUE(ReadAll(far_.get()) == sent);
  writer.join();
}

TEST(PumpUntilOverTest, EndsWhenBothDirectionsHaveEnded) {
  auto network = base::StreamSocketPair();
  auto near = base::StreamSocketPair();
  ASSERT_TRUE(network.ok() && near.ok());
  const Key key = Key::Random();
  auto caller = Session::OfClient(std::move(network->first), "node", key);
  auto called =
      Session::OfServer(std::move(network->second), [&](std::string_view) { return key; });
  std::thread pumps([&] {
    EXPECT_TRUE(test::ShakeHands(*caller));
    Pump pump(std::move(caller), std::move(near->first));
    PumpUntilOver(pump);
  });
  EXPECT_TRUE(test::ShakeHands(*called));
  EXPECT_TRUE(test::SendAll(*called, "there\n"));
  called->WriteEnd();
  EXPECT_TRUE(test::SendAll(*called, ""));
  char bytes[100];
  const auto got = base::ReadSome(near->second.get(), bytes, sizeof bytes, Limit());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(std::string(bytes, *got), "there\n");
  EXPECT_TRUE(base::WriteAll(near->second.get(), "and back\n", Limit()).ok());
  near->second.Reset();
  EXPECT_EQ(test::AllOf(*called), "and back\n");
  called.reset();
  pumps.join();
}

TEST_F(PumpTest, AnAbandonedEndEndsTheOther) {
  near_.Reset();
  EXPECT_EQ(ReadAll(far_.get()), "");
  far_.Reset();
}

TEST_F(PumpTest, ABrokenConnectionEndsBoth) {
  (*near_pumps_)->Stop(Deadline::After(std::chrono::milliseconds(0)));
  EXPECT_EQ(ReadAll(far_.get()), "");
  EXPECT_EQ(ReadAll(near_.get()), "");
}

}  // namespace
}  // namespace autodist::secure
