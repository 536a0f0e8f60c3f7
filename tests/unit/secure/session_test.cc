#include "secure/session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "support/secure_peer.h"

namespace autodist::secure {
namespace {

constexpr char kIdentity[] = "node-1/x";

class SessionTest : public testing::Test {
 protected:
  void Connect(const Key& callers_key, size_t identity_size = sizeof kIdentity - 1) {
    auto sockets = base::StreamSocketPair();
    ASSERT_TRUE(sockets.ok());
    std::string identity = kIdentity;
    identity.resize(identity_size, 'x');
    caller_ = Session::OfClient(std::move(sockets->first), identity, callers_key);
    called_ = Session::OfServer(std::move(sockets->second), [this](std::string_view said) {
      named_ = said;
      return key_;
    });
  }

  // The results of both sides.
  std::pair<bool, bool> ShakeHands() {
    bool caller = false;
    std::thread thread([&] {
      caller = test::ShakeHands(*caller_);
      if (!caller) shutdown(caller_->socket(), SHUT_RDWR);
    });
    const bool called = test::ShakeHands(*called_);
    if (!called) shutdown(called_->socket(), SHUT_RDWR);
    thread.join();
    return {caller, called};
  }

  Progress ReadOnce() {
    std::array<char, 100> bytes;
    size_t got = 0;
    return called_->Read(bytes, got);
  }

  std::optional<Key> key_ = Key::Random();
  std::string named_;
  std::unique_ptr<Session> caller_;
  std::unique_ptr<Session> called_;
};

TEST_F(SessionTest, BothSidesKnowTheKey) {
  Connect(*key_);
  EXPECT_EQ(ShakeHands(), std::pair(true, true));
  EXPECT_EQ(named_, kIdentity);
  EXPECT_TRUE(test::SendAll(*caller_, "question\nand more"));
  EXPECT_EQ(test::LineOf(*called_), "question");
  std::array<char, 100> rest;
  size_t got = 0;
  EXPECT_EQ(called_->Read(rest, got), Progress::kDone);
  EXPECT_EQ(std::string_view(rest.data(), got), "and more");
  EXPECT_EQ(called_->Read(rest, got), Progress::kWaits);
}

TEST_F(SessionTest, EachDirectionEndsSeparately) {
  Connect(*key_);
  ASSERT_EQ(ShakeHands(), std::pair(true, true));
  caller_->WriteEnd();
  EXPECT_TRUE(test::SendAll(*caller_, ""));
  EXPECT_EQ(ReadOnce(), Progress::kEnded);
  EXPECT_TRUE(test::SendAll(*called_, "still\n"));
  EXPECT_EQ(test::LineOf(*caller_), "still");
}

TEST_F(SessionTest, ATruncatedStreamHasNotEnded) {
  Connect(*key_);
  ASSERT_EQ(ShakeHands(), std::pair(true, true));
  caller_.reset();
  EXPECT_EQ(ReadOnce(), Progress::kBroken);
}

TEST_F(SessionTest, AnotherKeyIsRefused) {
  Connect(Key::Random());
  EXPECT_EQ(ShakeHands(), std::pair(false, false));
  key_.reset();
  Connect(Key::Random());
  EXPECT_EQ(ShakeHands(), std::pair(false, false));
}

TEST_F(SessionTest, LongIdentities) {
  Connect(*key_, 240);
  EXPECT_EQ(ShakeHands(), std::pair(true, true));
  EXPECT_EQ(named_.size(), 240U);
}

TEST_F(SessionTest, ModifiedBytesBreakTheSession) {
  Connect(*key_);
  ASSERT_EQ(ShakeHands(), std::pair(true, true));
  // A record of random bytes.
  const std::string noise = std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x');
  ASSERT_TRUE(base::WriteAll(caller_->socket(), noise, base::Deadline::After(test::kLimit)).ok());
  EXPECT_EQ(ReadOnce(), Progress::kBroken);
}

TEST_F(SessionTest, DataBeforeAuthenticationIsLimited) {
  Connect(*key_);
  const std::string endless =
      std::string("\x16\x03\x01\x40\x00\x01\x00\x3f\xf0", 9) + std::string(16'000, 'x');
  ASSERT_TRUE(base::WriteAll(caller_->socket(), endless, base::Deadline::After(test::kLimit)).ok());
  EXPECT_EQ(called_->Handshake(), Progress::kBroken);
  EXPECT_FALSE(called_->has_to_send());
}

TEST_F(SessionTest, ALineHasAMaxLength) {
  Connect(*key_);
  ASSERT_EQ(ShakeHands(), std::pair(true, true));
  ASSERT_TRUE(test::SendAll(*caller_, std::string(100, 'x') + "\n"));
  std::string line;
  EXPECT_EQ(called_->ReadLine(line, 99), Progress::kBroken);
}

}  // namespace
}  // namespace autodist::secure
