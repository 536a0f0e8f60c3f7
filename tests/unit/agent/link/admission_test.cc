// Admission to the agent, with real sockets and gRPC.
#include "agent/link/admission.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <thread>

#include "autodist/v1/agent.grpc.pb.h"
#include "autodist/v1/rendezvous.grpc.pb.h"
#include "rpc/bootstrap_lines.h"
#include "support/grpc_server.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::kLimit;

constexpr size_t kMaxPending = 16;

std::string Key(char filling) { return std::string(rpc::kKeySize, filling); }

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    signal(SIGPIPE, SIG_IGN);  // a rejected client may still be sending
    auto first = base::StreamSocketPair();
    first_ = std::move(first->second);
    admission_ = std::make_unique<Admission>(
        AgentSockets{Listen("chief"), Listen("ranks"), std::move(first->first)}, agent_.server(),
        rendezvous_.server());
    auto watched = base::Pipe();
    watched_ = std::move(watched->second);
    running_ = std::jthread([this, fd = std::move(watched->first)] {
      admission_->Run(stop_.first.get(), {{fd.get(), [this] { return ++reported_ < 2; }}});
    });
  }
  ~AdmissionTest() override { stop_.second.Reset(); }

  base::UniqueFd Listen(const std::string& name) {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(folder_.path() + "/" + name);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 64), 0);
    return fd;
  }
  base::UniqueFd Knock(const std::string& name, const std::string& greeting = "") {
    base::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = AddressOf(folder_.path() + "/" + name);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    Say(fd, greeting);
    return fd;
  }
  static void Say(const base::UniqueFd& fd, const std::string& greeting) {
    (void)base::WriteAll(fd.get(), greeting, base::Deadline::After(kLimit)).ok();
  }
  static bool SentAway(const base::UniqueFd& fd) {
    char byte;
    const auto got = base::ReadSome(fd.get(), &byte, 1, base::Deadline::After(kLimit));
    return !got.ok() || *got == 0;
  }
  // Whether gRPC answers, and with which service.
  template <typename Service>
  static bool Answers(base::UniqueFd fd) {
    const auto channel = *rpc::ChannelOver(std::move(fd));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kLimit);
    if constexpr (std::is_same_v<Service, v1::AgentService>) {
      v1::PrepareResponse response;
      return v1::AgentService::NewStub(channel)->Prepare(&context, {}, &response).error_code() ==
             grpc::StatusCode::UNIMPLEMENTED;
    } else {
      v1::GetResponse response;
      return v1::RendezvousService::NewStub(channel)->Get(&context, {}, &response).error_code() ==
             grpc::StatusCode::UNIMPLEMENTED;
    }
  }
  static bool LetIn(base::UniqueFd fd) { return Answers<v1::AgentService>(std::move(fd)); }
  // Admits the chief that started the agent; the key is Key('a') from then on.
  void LetFirstIn() {
    Say(first_, Key('a') + Key('x'));
    ASSERT_TRUE(LetIn(std::move(first_)));
  }

  const test::TempFolder folder_;
  v1::AgentService::Service agent_service_;
  v1::RendezvousService::Service rendezvous_service_;
  test::GrpcServer agent_{&agent_service_};
  test::GrpcServer rendezvous_{&rendezvous_service_};
  base::UniqueFd first_;
  base::FdPair stop_ = *base::Pipe();
  base::UniqueFd watched_;
  std::atomic<int> reported_ = 0;
  std::unique_ptr<Admission> admission_;
  std::jthread running_;
};

TEST_F(AdmissionTest, EitherKeyOpens) {
  LetFirstIn();
  EXPECT_TRUE(LetIn(Knock("chief", Key('a') + Key('b'))));
  EXPECT_TRUE(LetIn(Knock("chief", Key('b') + Key('a'))));
}

TEST_F(AdmissionTest, NoClientIsAdmittedBeforeTheFirstChief) {
  EXPECT_TRUE(SentAway(Knock("chief", std::string(rpc::kGreetingSize, '\0'))));
}

TEST_F(AdmissionTest, AWrongKeyDoesNotOpen) {
  LetFirstIn();
  EXPECT_TRUE(SentAway(Knock("chief", Key('b') + Key('c'))));
  const std::string half(rpc::kKeySize / 2, 'b');
  EXPECT_TRUE(SentAway(Knock("chief", half + Key('a') + half)));  // at another position
  std::string almost = Key('a');
  almost.back() = 'b';
  EXPECT_TRUE(SentAway(Knock("chief", almost + almost)));
}

TEST_F(AdmissionTest, AnEarlierKeyDoesNotOpenAgain) {
  LetFirstIn();
  admission_->SetKey(Key('n'));
  EXPECT_TRUE(SentAway(Knock("chief", Key('a') + Key('a'))));
  EXPECT_TRUE(LetIn(Knock("chief", Key('a') + Key('n'))));
}

TEST_F(AdmissionTest, AShortGreetingDoesNotOpen) {
  LetFirstIn();
  const base::UniqueFd client = Knock("chief", (Key('a') + Key('a')).substr(1));
  shutdown(client.get(), SHUT_WR);
  EXPECT_TRUE(SentAway(client));
}

TEST_F(AdmissionTest, AGreetingMayComeInPieces) {
  LetFirstIn();
  base::UniqueFd slow = Knock("chief", Key('a'));
  EXPECT_TRUE(SentAway(Knock("chief", Key('b') + Key('c'))));  // other clients do not wait for it
  Say(slow, Key('b'));
  EXPECT_TRUE(LetIn(std::move(slow)));
}

TEST_F(AdmissionTest, RanksNeedNoKeyAndReachOnlyTheRendezvous) {
  EXPECT_TRUE(Answers<v1::RendezvousService>(Knock("ranks")));
  EXPECT_FALSE(SentAway(Knock("ranks")));  // gRPC's first bytes come at once
}

TEST_F(AdmissionTest, TheLongestSilentClientIsDropped) {
  LetFirstIn();
  std::vector<base::UniqueFd> silent;
  for (size_t i = 0; i < kMaxPending; ++i) silent.push_back(Knock("chief"));
  EXPECT_TRUE(LetIn(Knock("chief", Key('a') + Key('a'))));
  EXPECT_TRUE(SentAway(std::move(silent.front())));
}

TEST_F(AdmissionTest, AClientIsAdmittedAfterDescriptorsRanOut) {
  LetFirstIn();
  EXPECT_TRUE(Answers<v1::RendezvousService>(Knock("ranks")));
  const base::UniqueFd chief(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 256), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<base::UniqueFd> taken;
  do {
    taken.emplace_back(dup(chief.get()));
  } while (taken.back().valid());
  const sockaddr_un address = AddressOf(folder_.path() + "/chief");
  ASSERT_EQ(connect(chief.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  Say(chief, Key('x') + Key('y'));
  char byte;
  const auto got = base::ReadSome(chief.get(), &byte, 1, base::Deadline::After(kLimit));
  EXPECT_TRUE(got.ok() && *got == 0);  // it has been rejected
  taken.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(Answers<v1::RendezvousService>(Knock("ranks")));
}

TEST_F(AdmissionTest, AWatchedDescriptorIsReportedUntilUnwatched) {
  watched_.Reset();
  LetFirstIn();
  EXPECT_TRUE(LetIn(Knock("chief", Key('a') + Key('a'))));
  EXPECT_EQ(reported_, 2);
}

}  // namespace
}  // namespace autodist::agent
