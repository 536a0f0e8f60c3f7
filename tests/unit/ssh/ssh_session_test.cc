#include "ssh/ssh_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <future>

#include "base/fd.h"
#include "support/shell.h"
#include "support/ssh_sessions.h"

namespace autodist::ssh {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;

using test::kSessionLimit;

constexpr milliseconds kPromptly{5'000};

// A real key with signatures that the test can delay.
class TestIdentity final : public SshIdentity {
 public:
  using OnSign = std::function<Status(const std::stop_token&)>;

  TestIdentity(std::shared_ptr<const SshIdentity> key, bool slow, OnSign on_sign = {})
      : key_(std::move(key)), slow_(slow), on_sign_(std::move(on_sign)) {}

  const std::string& public_blob() const override { return key_->public_blob(); }
  const std::string& description() const override { return key_->description(); }
  bool slow() const override { return slow_; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override {
    ++signatures;
    if (on_sign_) AD_RETURN_IF_ERROR(on_sign_(stop));
    return key_->SignRequest(request, stop);
  }

  mutable std::atomic<int> signatures{0};

 private:
  const std::shared_ptr<const SshIdentity> key_;
  const bool slow_;
  const OnSign on_sign_;
};

class SshSessionTest : public test::SshSessions {
 protected:
  SshSessionTest() : SshSessions("MaxAuthTries 3") {}
};

TEST_F(SshSessionTest, PassesBytesBothWays) {
  ASSERT_EQ(Start(TargetFor({AcceptedKey()}), "echo oh no >&2; exec cat"), OkStatus());
  const std::string much(3 << 20, 'x');
  std::thread writer([&] {
    EXPECT_TRUE(base::WriteAll(ours_.get(), much, Deadline::After(kSessionLimit)).ok());
    shutdown(ours_.get(), SHUT_WR);
  });
  EXPECT_EQ(ReadAll(), much);
  writer.join();
  EXPECT_TRUE(session_->WaitEnded(Deadline::After(kSessionLimit)));
  EXPECT_EQ(session_->StderrTail(), "oh no\n");
  EXPECT_EQ(session_->Failure(), OkStatus());
}

TEST_F(SshSessionTest, LogsInWithEachKindOfKey) {
  for (const char* options :
       {"-t ed25519", "-t ecdsa", "-t rsa -b 2048", "-t rsa -b 2048 -m PEM", "-t ecdsa -m PKCS8"}) {
    EXPECT_EQ(Start(TargetFor({AcceptedKey(options)})), OkStatus()) << options;
  }
}

TEST_F(SshSessionTest, EachAddressIsTried) {
  SshTarget target = TargetFor({AcceptedKey()});
  target.addresses.insert(target.addresses.begin(), *base::IpAddress::Parse("127.0.0.9"));
  EXPECT_EQ(Start(target), OkStatus());
  target.addresses.pop_back();
  const Status status = Start(target);
  EXPECT_THAT(Message(status), HasSubstr("connecting to 127.0.0.9: Connection refused"));
  EXPECT_FALSE(session_->SshMayGetFurther());
}

TEST_F(SshSessionTest, TheAcceptedKeyNeedNotBeTheFirst) {
  EXPECT_EQ(Start(TargetFor({NewKey(), AcceptedKey()})), OkStatus());
}

TEST_F(SshSessionTest, RefusedKeysAreListed) {
  const Key key = NewKey();
  auto target = TargetFor({key});
  target.keys.notes = {"another is encrypted"};
  const Status status = Start(std::move(target));
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr("key refused"));
  EXPECT_THAT(Message(status), HasSubstr(key->description()));
  EXPECT_THAT(Message(status), HasSubstr("not tried: another is encrypted"));
  EXPECT_EQ(session_->Failure(), status);
}

// A server with a text for people before the login.
class BannerTest : public test::SshSessions {
 protected:
  BannerTest() : SshSessions("Banner " + File()) {}

  static std::string File() {
    static const test::TempFolder folder;
    return folder.Write("banner", "****\nThe cluster is down for maintenance.\n****\n");
  }
};

TEST_F(BannerTest, IsQuotedAfterARefusal) {
  const Status status = Start(TargetFor({NewKey()}));
  EXPECT_THAT(Message(status), HasSubstr("the server says: The cluster is down for maintenance."));
  EXPECT_THAT(Message(status), HasSubstr("key refused"));
  EXPECT_EQ(Start(TargetFor({AcceptedKey()})), OkStatus());
}

// sshd disconnects instead of refusing the third time.
TEST_F(SshSessionTest, ADisconnectAfterMaxAuthTriesMeansRefusedKeys) {
  const std::vector<Key> keys = {NewKey(), NewKey(), NewKey(), NewKey()};
  const Status status = Start(TargetFor(keys));
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(Message(status), HasSubstr(keys[2]->description()));
  EXPECT_THAT(Message(status), Not(HasSubstr(keys[3]->description())));
}

TEST_F(SshSessionTest, AConnectionLostBeforeTheAnswerIsNotARefusal) {
  for (const bool slow : {false, true}) {
    const auto cut = [this](const std::stop_token&) {
      server_.HangUpAtNextRequest();
      return OkStatus();
    };
    const auto key = std::make_shared<TestIdentity>(AcceptedKey(), slow, cut);
    const Status status = Start(TargetFor({key}));
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_THAT(Message(status), HasSubstr("the connection was lost while logging in"));
    EXPECT_THAT(Remedy(status), Not(HasSubstr("authorized_keys")));
  }
}

TEST_F(SshSessionTest, SlowSignaturesAreMadeByTheWaitingThread) {
  std::thread::id signer;
  const auto remember = [&](const std::stop_token&) {
    signer = std::this_thread::get_id();
    return OkStatus();
  };
  EXPECT_EQ(Start(TargetFor({std::make_shared<TestIdentity>(AcceptedKey(), true, remember)})),
            OkStatus());
  EXPECT_EQ(signer, std::this_thread::get_id());
}

TEST_F(SshSessionTest, AKeyThatCannotSignIsSkipped) {
  const auto fail = [](const std::stop_token&) {
    return Error(StatusCode::kUnavailable, "locked");
  };
  const auto locked = std::make_shared<TestIdentity>(AcceptedKey(), true, fail);
  EXPECT_EQ(Start(TargetFor({locked, AcceptedKey()})), OkStatus());
  const Status status = Start(TargetFor({locked}));
  EXPECT_EQ(status.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(status), HasSubstr("not tried: locked"));
}

// The server gives up before the user answers ssh-agent's prompt.
TEST_F(SshSessionTest, AServerThatDisconnectsDuringASignatureEndsTheLogin) {
  const auto hold = [this](const std::stop_token& stop) {
    server_.HangUp();
    std::promise<void> stopped;
    const std::stop_callback on_stop(stop, [&stopped] { stopped.set_value(); });
    stopped.get_future().wait_for(kSessionLimit);
    return OkStatus();
  };
  const auto asked = std::make_shared<TestIdentity>(AcceptedKey(), true, hold);
  const auto next = std::make_shared<TestIdentity>(AcceptedKey(), true);
  const auto begin = steady_clock::now();
  const Status status = Start(TargetFor({asked, next}));
  EXPECT_LT(steady_clock::now() - begin, kPromptly);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_THAT(Message(status), HasSubstr("closed the connection while ssh-agent was signing"));
  EXPECT_EQ(asked->signatures, 1);
  EXPECT_EQ(next->signatures, 0);
}

TEST_F(SshSessionTest, CancelStopsASignature) {
  const auto hold = [this](const std::stop_token& stop) {
    std::promise<void> stopped;
    const std::stop_callback on_stop(stop, [&stopped] { stopped.set_value(); });
    session_->Cancel();
    loop_->Nudge(session_);
    stopped.get_future().wait_for(kSessionLimit);
    return OkStatus();
  };
  const auto begin = steady_clock::now();
  const Status status =
      Start(TargetFor({std::make_shared<TestIdentity>(AcceptedKey(), true, hold)}));
  EXPECT_LT(steady_clock::now() - begin, kPromptly);
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST_F(SshSessionTest, HostKeys) {
  const Key key = AcceptedKey();
  const std::string file = folder_.path() + "/known_hosts";
  const auto start = [&](v1::HostKeyCheck check, const std::string& known) {
    SshTarget target = TargetFor({key});
    folder_.Write("known_hosts", known);
    target.known_hosts = std::make_shared<KnownHosts>(std::vector{file});
    target.reach.set_host_key_check(check);
    return Start(std::move(target));
  };
  EXPECT_THAT(Message(start(v1::HOST_KEY_CHECK_STRICT, "")), HasSubstr("host key unknown"));
  EXPECT_EQ(start(v1::HOST_KEY_CHECK_OFF, ""), OkStatus());
  EXPECT_EQ(start(v1::HOST_KEY_CHECK_ACCEPT_NEW, ""), OkStatus());
  const std::string added = folder_.Read("known_hosts");
  EXPECT_TRUE(server_.HostKeyLine().starts_with(added.substr(0, added.size() - 1))) << added;
  const std::string other = "[127.0.0.1]:" + std::to_string(server_.port()) + " " +
                            test::Shell("cat " + key->description() + ".pub");
  EXPECT_THAT(Message(start(v1::HOST_KEY_CHECK_ACCEPT_NEW, other)), HasSubstr("host key changed"));
  EXPECT_THAT(Message(start(v1::HOST_KEY_CHECK_OFF,
                            "@revoked * " + test::Shell("echo '" + server_.HostKeyLine() +
                                                        "' | cut -d' ' -f2-"))),
              HasSubstr("host key revoked"));
}

TEST_F(SshSessionTest, AConnectionLostLaterIsTheStreamsFailure) {
  ASSERT_EQ(Start(TargetFor({AcceptedKey()})), OkStatus());
  server_.HangUp();
  EXPECT_EQ(ReadAll(), "");
  EXPECT_TRUE(session_->WaitEnded(Deadline::After(kSessionLimit)));
  EXPECT_EQ(session_->Failure().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(session_->Failure()), HasSubstr("connection lost"));
}

TEST_F(SshSessionTest, TheEndOfTheLoopEndsTheSession) {
  ASSERT_EQ(Start(TargetFor({AcceptedKey()})), OkStatus());
  loop_.reset();
  EXPECT_EQ(ReadAll(), "");
  EXPECT_EQ(session_->Failure().code(), StatusCode::kCancelled);
}

TEST_F(SshSessionTest, ASessionThatSpinsWithoutProgressIsGivenUp) {
  ASSERT_EQ(Start(TargetFor({AcceptedKey()})), OkStatus());
  for (int i = 0; i < 2 * ProgressWatch::kMaxIdleTurns; ++i) loop_->Nudge(session_);
  EXPECT_TRUE(session_->WaitEnded(Deadline::After(kSessionLimit)));
  EXPECT_THAT(Message(session_->Failure()), HasSubstr("no data pass"));
}

TEST_F(SshSessionTest, LinesMayPrecedeTheServersBanner) {
  server_.SayFirst("This is the gateway\r\nof the cluster.\r\n");
  EXPECT_EQ(Start(TargetFor({AcceptedKey()})), OkStatus());
}

// Listens, and sends `says` to each client.
class Listener {
 public:
  explicit Listener(std::optional<std::string> says, bool stays = false)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_.get(), any, length), 0);
    EXPECT_EQ(listen(socket_.get(), 1), 0);
    getsockname(socket_.get(), any, &length);
    port = ntohs(address.sin_port);
    if (!says) return;
    thread_ = std::jthread([this, says, stays] {
      const base::UniqueFd client(accept(socket_.get(), nullptr, nullptr));
      (void)!write(client.get(), says->data(), says->size());
      char nothing;
      if (stays) (void)!read(client.get(), &nothing, 1);
    });
  }
  uint16_t port = 0;

 private:
  const base::UniqueFd socket_;
  std::jthread thread_;
};

TEST_F(SshSessionTest, AnotherServerIsReported) {
  SshTarget target = TargetFor({NewKey()});
  const auto status_of = [&](const Listener& listener) {
    target.reach.set_port(listener.port);
    return Start(target);
  };
  EXPECT_THAT(Message(status_of(Listener("HTTP/1.1 400\r\n"))),
              HasSubstr("not an SSH server: it says 'HTTP/1.1 400'"));
  EXPECT_EQ(status_of(Listener("")).code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status_of(Listener("SSH-2.0-x\r\n"))),
              HasSubstr("the server aborted the SSH handshake"));
  target.reach.set_connect_limit_ms(200);
  EXPECT_THAT(Message(status_of(Listener(std::nullopt))),
              HasSubstr("waiting for the banner of an SSH server timed out after 0.2 s"));
  EXPECT_THAT(Message(status_of(Listener("220 mail\r\n", true))),
              HasSubstr("not an SSH server: it says '220 mail', and no more within 0.2 s"));
  EXPECT_THAT(Message(status_of(Listener(std::string(20'000, 'x'), true))),
              HasSubstr("x', and goes on without end"));
}

TEST_F(SshSessionTest, NoListener) {
  SshTarget target = TargetFor({NewKey()});
  target.reach.set_port(Listener(std::nullopt).port);
  const Status status = Start(target);
  EXPECT_THAT(Message(status), HasSubstr("connecting to 127.0.0.1: Connection refused"));
  EXPECT_THAT(Message(status), HasSubstr("@127.0.0.1 port "));
  SshTarget alias = TargetFor({});
  alias.reach.set_host("gpu1");
  alias.reach.set_host_key_name("vault");
  EXPECT_THAT(Message(Start(std::move(alias))), HasSubstr("@gpu1 (127.0.0.1) port "));
}

}  // namespace
}  // namespace autodist::ssh
