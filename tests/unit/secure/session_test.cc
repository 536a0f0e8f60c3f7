#include "secure/session.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/deadline.h"
#include "support/limit.h"
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
    std::array<char, 2000> bytes;
    size_t got = 0;
    return called_->Read(bytes, got);
  }

  // Reads until there is no more data.
  Progress ReadAll() {
    Progress progress = Progress::kDone;
    while (progress == Progress::kDone) progress = ReadOnce();
    return progress;
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

// A client that knows the key, and can do what Session does not.
class RawClient {
 public:
  RawClient(base::UniqueFd socket, const Key& key)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(TLS_client_method())),
        tls_(SSL_new(context_)),
        key_(key) {
    SSL_set_app_data(tls_, this);
    SSL_set_psk_use_session_callback(tls_, Use);
    SSL_set_fd(tls_, socket_.get());
  }
  ~RawClient() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool ShakeHands() { return SSL_connect(tls_) == 1; }
  bool UpdateKeys(int times) {
    for (int i = 0; i < times; ++i) {
      if (SSL_key_update(tls_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 || SSL_do_handshake(tls_) != 1)
        return false;
    }
    return true;
  }
  bool Send(const std::string& data) {
    return SSL_write(tls_, data.data(), static_cast<int>(data.size())) > 0;
  }

 private:
  static int Use(SSL* tls, const EVP_MD*, const unsigned char** identity, size_t* size,
                 SSL_SESSION** session) {
    const std::string_view key = static_cast<RawClient*>(SSL_get_app_data(tls))->key_.bytes();
    const unsigned char cipher[] = {0x13, 0x01};
    *identity = reinterpret_cast<const unsigned char*>(kIdentity);
    *size = sizeof kIdentity - 1;
    *session = SSL_SESSION_new();
    return SSL_SESSION_set1_master_key(*session, reinterpret_cast<const unsigned char*>(key.data()),
                                       key.size()) == 1 &&
           SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(tls, cipher)) == 1 &&
           SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION) == 1;
  }

  const base::UniqueFd socket_;
  SSL_CTX* const context_;
  SSL* const tls_;
  const Key key_;
};

class RawClientTest : public SessionTest {
 protected:
  void SetUp() override {
    auto sockets = base::StreamSocketPair();
    ASSERT_TRUE(sockets.ok());
    client_.emplace(std::move(sockets->first), *key_);
    called_ =
        Session::OfServer(std::move(sockets->second), [this](std::string_view) { return key_; });
    std::thread thread([&] { EXPECT_TRUE(client_->ShakeHands()); });
    EXPECT_TRUE(test::ShakeHands(*called_));
    thread.join();
  }

  std::optional<RawClient> client_;
};

TEST_F(RawClientTest, KeyUpdatesAreLimited) {
  EXPECT_TRUE(client_->UpdateKeys(20));
  EXPECT_TRUE(client_->Send("data"));
  EXPECT_EQ(ReadOnce(), Progress::kDone);
  // A little data among them changes nothing.
  Progress progress = Progress::kWaits;
  for (int i = 0; progress == Progress::kWaits && i < 20; ++i) {
    ASSERT_TRUE(client_->UpdateKeys(1) && client_->Send("x"));
    progress = ReadAll();
  }
  EXPECT_EQ(progress, Progress::kBroken);
}

TEST_F(RawClientTest, TheLimitOfKeyUpdatesIsForEachMebibyteOfData) {
  constexpr size_t kPiece = 16 << 10;
  for (int time = 0; time < 3; ++time) {
    ASSERT_TRUE(client_->UpdateKeys(20));
    for (size_t sent = 0; sent < 1 << 20; sent += kPiece) {
      ASSERT_TRUE(client_->Send(std::string(kPiece, 'x')));
      ASSERT_EQ(ReadAll(), Progress::kWaits) << time;
    }
  }
}

TEST_F(RawClientTest, AFloodOfKeyUpdatesEndsTheSession) {
  signal(SIGPIPE, SIG_IGN);  // of the client, when the session has ended
  const base::Deadline limit = base::Deadline::After(test::kLimit);
  std::atomic<bool> sent = false;
  std::thread flood([&] {
    client_->UpdateKeys(20'000);
    sent = true;
  });
  Progress progress = Progress::kWaits;
  while (progress == Progress::kWaits && !limit.Expired()) {
    const bool last = sent;
    progress = ReadAll();
    if (last) break;
  }
  EXPECT_EQ(progress, Progress::kBroken);
  called_.reset();
  flood.join();
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
