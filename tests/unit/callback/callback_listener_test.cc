// Nodes that connect back: the chief's side with the agent's own client, strangers, impostors, and
// proxies that record or repeat the traffic.
#include "callback/callback_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "base/listen_address.h"
#include "base/proof_of_end.h"
#include "base/tcp_connect.h"
#include "process/spawn.h"
#include "secure/session.h"
#include "support/limit.h"
#include "support/recording_proxy.h"
#include "support/secure_peer.h"
#include "transport/local.h"

namespace autodist::callback {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using test::kLimit;
using testing::HasSubstr;
using testing::Not;

constexpr char kNode[] = "node-1";

Deadline Limit() { return Deadline::After(kLimit); }

std::string AtLoopback(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

struct EndClient {
  void operator()(transport::ProgramStream* caller) const {
    kill(caller->pid(), SIGKILL);
    delete caller;
  }
};
using ClientProgram = std::unique_ptr<transport::ProgramStream, EndClient>;

// Starts `autodist-agent connect-back` like a scheduler.
ClientProgram StartClient(const std::string& key_line, const std::vector<std::string>& addresses,
                          const std::string& seconds = "60") {
  std::vector<std::string> argv = {AGENT_PROGRAM, "connect-back", kNode, seconds};
  argv.insert(argv.end(), addresses.begin(), addresses.end());
  auto caller = transport::StartProgram(argv);
  EXPECT_TRUE(caller.ok());
  const base::UniqueFd input = (*caller)->TakeSocket();
  // A client that refuses its arguments may have exited.
  (void)base::WriteAll(input.get(), key_line, Limit()).ok();
  return ClientProgram((*caller).release());
}

std::optional<int> ExitOf(transport::ProgramStream& program) {
  EXPECT_TRUE(program.WaitClosed(Limit()));
  return program.ExitStatus();
}

base::UniqueFd ConnectTo(uint16_t port) {
  auto connecting = base::StartConnecting(*base::IpAddress::Parse("127.0.0.1"), port);
  base::UniqueFd fd = std::get<base::UniqueFd>(std::move(connecting));
  pollfd writable{fd.get(), POLLOUT, 0};
  EXPECT_EQ(poll(&writable, 1, Limit().PollTimeout()), 1);
  EXPECT_EQ(base::ConnectResult(fd.get()), 0);
  return fd;
}

// Returns all data until the end of the stream or a reset.
std::string ReadAll(int fd) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const auto got = base::ReadSome(fd, bytes, sizeof bytes, Limit());
    EXPECT_NE(got.status().code(), StatusCode::kDeadlineExceeded);
    if (!got.ok() || *got == 0) return text;
    text.append(bytes, *got);
  }
}

std::string ReadLineFrom(int fd) {
  std::string line;
  for (char byte = 0; !line.ends_with('\n');) {
    const auto got = base::ReadSome(fd, &byte, 1, Limit());
    if (!got.ok() || *got == 0) break;
    line += byte;
  }
  return line;
}

class CallbackListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    Listen({});
  }

  void Listen(CallbackLimits limits, uint16_t port = 0) {
    nodes_.reset();
    limits.report = kLimit;  // on a busy machine the next connection takes long
    auto nodes = CallbackListener::Listen({port, port}, job_key_, {kNode, "node-2"}, limits);
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    nodes_ = *std::move(nodes);
  }

  ClientProgram StartClient() const {
    return callback::StartClient(KeyLine(), {AtLoopback(nodes_->port())});
  }

  std::string KeyLine() const { return secure::NodeKeyLine(job_key_.ForNode(kNode)); }

  // Connects from this process with the given instance; null if it was refused.
  std::unique_ptr<secure::Session> CallAs(const std::string& node, const secure::Key& key,
                                          const std::string& instance = std::string(32, 'a')) {
    auto session = secure::Session::OfClient(ConnectTo(nodes_->port()),
                                             rpc::CallbackIdentity{node, instance}.ToText(), key);
    return test::ShakeHands(*session) ? std::move(session) : nullptr;
  }
  std::unique_ptr<secure::Session> CallAsNode(const std::string& instance = std::string(32, 'a')) {
    return CallAs(kNode, job_key_.ForNode(kNode), instance);
  }
  void AwaitCalls(uint64_t count) {
    while (nodes_->Calls(kNode) < count) std::this_thread::yield();
  }

  // A client that runs a program, and has connected again.
  struct Client {
    std::unique_ptr<secure::Session> program;
    std::unique_ptr<transport::Stream> stream;
    std::unique_ptr<secure::Session> waits;
  };
  Client ClientWithProgram() {
    Client client{CallAsNode(), nullptr, nullptr};
    if (!client.program) return client;
    std::thread caller([&] {
      const auto order = rpc::CallbackLine::FromLine(test::LineOf(*client.program));
      const std::string started =
          rpc::CallbackLine{rpc::kCallbackStarted, order ? order->id : 0}.ToLine();
      EXPECT_TRUE(test::SendAll(*client.program, started));
    });
    client.stream = Run({"cat"});
    caller.join();
    client.waits = CallAsNode();
    AwaitCalls(2);
    return client;
  }

  std::unique_ptr<transport::Stream> Run(const std::vector<std::string>& argv) {
    CallbackTransport transport(nodes_, kNode, kLimit);
    auto stream = transport.Run(argv, {});
    EXPECT_TRUE(stream.ok()) << stream.status();
    return stream.ok() ? *std::move(stream) : nullptr;
  }

  std::string OutputOf(const std::vector<std::string>& argv) {
    const auto stream = Run(argv);
    return stream ? ReadAll(stream->TakeSocket().get()) : "";
  }

  const secure::Key job_key_ = secure::Key::Random();
  std::shared_ptr<CallbackListener> nodes_;
};

TEST_F(CallbackListenerTest, EveryByteIsPassedBothWaysAndEachDirectionEndsSeparately) {
  const auto caller = StartClient();
  std::string sent(300'000, '\0');
  std::iota(sent.begin(), sent.end(), '\0');
  const auto stream = Run({"sh", "-c", "cat; echo end of input"});
  ASSERT_TRUE(stream);
  const base::UniqueFd socket = stream->TakeSocket();
  std::thread writer([&] {
    EXPECT_TRUE(base::WriteAll(socket.get(), sent, Limit()).ok());
    shutdown(socket.get(), SHUT_WR);
  });
  const std::string received = ReadAll(socket.get());
  writer.join();
  EXPECT_TRUE(received == sent + "end of input\n");
  EXPECT_TRUE(stream->WaitClosed(Limit()));
}

TEST_F(CallbackListenerTest, ProgramsRunConcurrently) {
  const auto caller = StartClient();
  const auto first = Run({"cat"});
  const auto second = Run({"cat"});
  ASSERT_TRUE(first && second);
  for (const auto& [stream, text] : {std::pair{&first, "1"}, std::pair{&second, "2"}}) {
    const base::UniqueFd socket = (*stream)->TakeSocket();
    ASSERT_TRUE(base::WriteAll(socket.get(), text, Limit()).ok());
    shutdown(socket.get(), SHUT_WR);
    EXPECT_EQ(ReadAll(socket.get()), text);
  }
}

TEST_F(CallbackListenerTest, ArgumentsArriveUnchanged) {
  const auto caller = StartClient();
  EXPECT_EQ(OutputOf({"printf", "<%s>", "", "a b\n", "$HOME'\"", "\xff"}),
            "<><a b\n><$HOME'\"><\xff>");
}

TEST_F(CallbackListenerTest, StderrOfAProgramArrivesAfterItsEnd) {
  const auto caller = StartClient();
  const auto stream = Run({"sh", "-c", "echo reason >&2; exit 3"});
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->WaitClosed(Limit()));
  EXPECT_EQ(stream->StderrTail(), "reason\n");
  const auto none = Run({"/no/such/program"});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->WaitClosed(Limit()));
  EXPECT_THAT(none->StderrTail(), HasSubstr("/no/such/program"));
}

TEST_F(CallbackListenerTest, AnAbandonedStreamClosesTheProgramsStdin) {
  const auto caller = StartClient();
  const auto observed = Run({"sh", "-c", "read line; echo $line"});
  ASSERT_TRUE(observed);
  Run({"cat"}).reset();
  nodes_->Dismiss(Deadline::After(milliseconds(0)));
  const base::UniqueFd socket = observed->TakeSocket();
  ASSERT_TRUE(base::WriteAll(socket.get(), "on\n", Limit()).ok());
  EXPECT_EQ(ReadAll(socket.get()), "on\n");
  EXPECT_EQ(ExitOf(*caller), 0);  // when cat has ended
}

TEST_F(CallbackListenerTest, TheEndOfTheJobIsSentEvenBetweenTwoConnections) {
  const auto caller = StartClient();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  nodes_->Dismiss(Limit());
  EXPECT_EQ(ExitOf(*caller), 0);
  EXPECT_FALSE(nodes_->Run(kNode, {"true"}, Limit(), {}).ok());
}

TEST_F(CallbackListenerTest, StrangersGetNoDataAndDoNotBlockNodes) {
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(5000, 'a'),
        std::string(5000, '\0') + "\n", std::string("\n"), std::string("\x16\x03\x01\x40\x00", 5),
        std::string("\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9) + std::string(5000, 'x')}) {
    const base::UniqueFd stranger = ConnectTo(nodes_->port());
    // it may be disconnected before it has sent all
    (void)base::WriteAll(stranger.get(), said, Limit());
    shutdown(stranger.get(), SHUT_WR);
    EXPECT_EQ(ReadAll(stranger.get()), "") << said;
  }
  const secure::Key other = secure::Key::Random();
  for (const std::string node : {"node-1", "node-2", "node-3", "../x", ""}) {
    EXPECT_FALSE(CallAs(node, other)) << node;
  }
  EXPECT_FALSE(CallAs("node-3", job_key_.ForNode("node-3")));
  const auto caller = StartClient();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

// Checks every byte that a client without the key receives.
TEST_F(CallbackListenerTest, AWrongKeyGetsNoBytes) {
  test::RecordingProxy proxy(nodes_->port());
  auto session = secure::Session::OfClient(
      ConnectTo(proxy.port()), rpc::CallbackIdentity{kNode, std::string(32, 'a')}.ToText(),
      secure::Key::Random());
  EXPECT_FALSE(test::ShakeHands(*session));
  EXPECT_NE(proxy.sent(), "");
  EXPECT_EQ(proxy.answered(), "");
}

TEST_F(CallbackListenerTest, ANodesKeyIsNotValidForOtherNodes) {
  const secure::Key of_node_2 = job_key_.ForNode("node-2");
  EXPECT_FALSE(CallAs(kNode, of_node_2));
  EXPECT_TRUE(CallAs("node-2", of_node_2));
  // The real client with that key is refused, too.
  const auto impostor =
      callback::StartClient(secure::NodeKeyLine(of_node_2), {AtLoopback(nodes_->port())}, "0");
  EXPECT_EQ(ExitOf(*impostor), 1);
  EXPECT_EQ(nodes_->Calls(kNode), 0U);
}

TEST_F(CallbackListenerTest, AClientDerivesItsKeyFromTheJobs) {
  const auto caller =
      callback::StartClient(secure::JobKeyLine(job_key_), {AtLoopback(nodes_->port())});
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, WhyAProgramCouldNotBeConnectedIsReported) {
  if (SANITIZED) GTEST_SKIP() << "UndefinedBehaviorSanitizer opens pipes to look at objects";
  const auto caller = StartClient();
  AwaitCalls(1);
  rlimit before{};
  ASSERT_EQ(prlimit(caller->pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(prlimit(caller->pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  const auto stream = Run({"echo", "up"});
  ASSERT_TRUE(stream);
  const base::UniqueFd socket = stream->TakeSocket();
  EXPECT_EQ(ReadAll(socket.get()), "");
  ASSERT_EQ(prlimit(caller->pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_TRUE(stream->WaitClosed(Limit()));
  EXPECT_THAT(stream->StderrTail(), HasSubstr("Too many open files"));
}

TEST_F(CallbackListenerTest, ARecordingOfTheConnectionContainsNoSecret) {
  test::RecordingProxy proxy(nodes_->port());
  const auto caller = callback::StartClient(KeyLine(), {AtLoopback(proxy.port())});
  const std::string secret = "the value of WANDB_API_KEY";
  const auto stream = Run({"sh", "-c", "cat; echo \"$0\" >&2", "an argument"});
  ASSERT_TRUE(stream);
  const base::UniqueFd socket = stream->TakeSocket();
  ASSERT_TRUE(base::WriteAll(socket.get(), secret, Limit()).ok());
  shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadAll(socket.get()), secret);
  EXPECT_TRUE(stream->WaitClosed(Limit()));
  EXPECT_EQ(stream->StderrTail(), "an argument\n");
  const std::string recorded = proxy.sent() + proxy.answered();
  EXPECT_THAT(recorded, HasSubstr(kNode));  // the name is no secret
  const secure::Key node_key = job_key_.ForNode(kNode);
  for (const std::string& hidden :
       {secret, std::string("an argument"), std::string("cat"), node_key.ToHex(),
        std::string(node_key.bytes()), job_key_.ToHex(), std::string(job_key_.bytes())}) {
    EXPECT_THAT(recorded, Not(HasSubstr(hidden)));
  }
}

TEST_F(CallbackListenerTest, ARecordedConnectionIsRefused) {
  test::RecordingProxy proxy(nodes_->port());
  const auto caller = callback::StartClient(KeyLine(), {AtLoopback(proxy.port())});
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  AwaitCalls(2);  // the first is the program's
  const std::string recorded = proxy.sent();
  ASSERT_NE(recorded, "");
  const base::UniqueFd again = ConnectTo(nodes_->port());
  ASSERT_TRUE(base::WriteAll(again.get(), recorded, Limit()).ok());
  const std::string answer = ReadAll(again.get());
  EXPECT_EQ(nodes_->Calls(kNode), 2U);
  // Only the listener's handshake with new nonces, and no data after it.
  EXPECT_LT(answer.size(), 400U);
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, RecordedConnectionsDoNotBlockTheNode) {
  Listen({.greeting = kLimit});
  std::string recorded;
  {
    test::RecordingProxy proxy(nodes_->port());
    const auto caller = callback::StartClient(KeyLine(), {AtLoopback(proxy.port())});
    AwaitCalls(1);
    recorded = proxy.sent();
  }
  // Keeps the first message, the length of which is in its header.
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(recorded.at(at)); };
  recorded.resize(5U + byte(3) * 256U + byte(4));
  std::vector<base::UniqueFd> unproven;
  for (int i = 0; i < 10; ++i) {
    unproven.push_back(ConnectTo(nodes_->port()));
    ASSERT_TRUE(base::WriteAll(unproven.back().get(), recorded, Limit()).ok());
    ASSERT_TRUE(base::WaitReadable(unproven.back().get(), Limit()).ok());
  }
  char bytes[4096];
  while (recv(unproven[0].get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
  EXPECT_EQ(ReadAll(unproven[0].get()), "");  // the first one was dropped
  const auto caller = StartClient();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, ASilentStrangerIsDisconnected) {
  Listen({.greeting = milliseconds(50)});
  const base::UniqueFd stranger = ConnectTo(nodes_->port());
  EXPECT_EQ(ReadAll(stranger.get()), "");
}

TEST_F(CallbackListenerTest, TheOldestOfTooManyStrangersIsDropped) {
  Listen({.greeting = kLimit, .strangers = 3});
  std::vector<base::UniqueFd> strangers;
  for (int i = 0; i < 4; ++i) strangers.push_back(ConnectTo(nodes_->port()));
  EXPECT_EQ(ReadAll(strangers[0].get()), "");
  const auto caller = StartClient();  // may name itself at once, and then is no stranger
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, AnUnresponsiveClientIsReplacedByTheNext) {
  Listen({.start = milliseconds(500)});
  const auto hangs = CallAsNode();
  ASSERT_TRUE(hangs);
  ClientProgram caller;
  std::thread later([&] {
    EXPECT_THAT(test::LineOf(*hangs), HasSubstr("run"));
    caller = StartClient();
    EXPECT_EQ(test::AllOf(*hangs), "");
  });
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  later.join();
}

TEST_F(CallbackListenerTest, ADisconnectedClientIsNotAwaited) {
  Listen({.start = kLimit});
  CallAsNode().reset();
  AwaitCalls(1);
  const Deadline::Clock::time_point began = Deadline::Clock::now();
  nodes_->Dismiss(Limit());
  EXPECT_LT(Deadline::Clock::now() - began, kLimit / 2);
}

TEST_F(CallbackListenerTest, AnUnresponsiveClientIsNotAwaitedBeyondTheTimeLimit) {
  Listen({.start = kLimit});
  const auto hangs = CallAsNode();
  ASSERT_TRUE(hangs);
  const Deadline::Clock::time_point began = Deadline::Clock::now();
  const auto late = nodes_->Run(kNode, {"true"}, Deadline::After(milliseconds(100)), {});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(Deadline::Clock::now() - began, kLimit / 2);
}

TEST_F(CallbackListenerTest, ACancelledRunIsNotStarted) {
  const auto waits = CallAsNode();
  ASSERT_TRUE(waits);
  AwaitCalls(1);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(nodes_->Run(kNode, {"true"}, Limit(), stop.get_token()).status().code(),
            StatusCode::kCancelled);
  nodes_->Dismiss(Deadline::After(milliseconds(0)));
  EXPECT_EQ(test::LineOf(*waits), "over 0");  // no order before it
}

// Otherwise a disconnected task and its replacement would displace each other.
TEST_F(CallbackListenerTest, TheEarlierOfTwoProcessesOfANodeIsDismissed) {
  const auto earlier = CallAsNode();
  ASSERT_TRUE(earlier);
  AwaitCalls(1);
  const auto later = CallAsNode(std::string(32, 'b'));
  ASSERT_TRUE(later);
  EXPECT_EQ(test::AllOf(*earlier), "");
  const auto again = CallAsNode();
  ASSERT_TRUE(again);
  EXPECT_EQ(test::LineOf(*again), "over 0");
  EXPECT_EQ(nodes_->Calls(kNode), 2U);
  std::thread caller([&] {
    EXPECT_THAT(test::LineOf(*later), HasSubstr("run"));
    EXPECT_TRUE(test::SendAll(*later, rpc::CallbackLine{rpc::kCallbackStarted, 1}.ToLine()));
  });
  EXPECT_TRUE(Run({"cat"}));
  caller.join();
}

// A node with its key that lies: it reports ends of programs that it never ran.
TEST_F(CallbackListenerTest, ANodeThatFloodsReportsIsDisconnected) {
  const auto liar = CallAsNode();
  ASSERT_TRUE(liar);
  const std::string report = rpc::CallbackLine{rpc::kCallbackEnded, 77, {"x"}}.ToLine();
  std::string many;
  for (int i = 0; i < 100; ++i) many += report;
  const Deadline limit = Limit();
  while (!limit.Expired() && test::SendAll(*liar, many)) {
  }
  EXPECT_FALSE(limit.Expired());
}

TEST_F(CallbackListenerTest, AnEarlierProcessIsDismissedAtMostFourTimesConcurrently) {
  const auto earlier = CallAsNode();
  const auto newest = CallAsNode(std::string(32, 'b'));
  AwaitCalls(2);
  std::vector<std::unique_ptr<secure::Session>> reported;
  for (int i = 0; i < 5; ++i) {
    reported.push_back(CallAsNode());
    ASSERT_TRUE(reported.back());
    EXPECT_EQ(test::LineOf(*reported.back()) + "\n",
              rpc::CallbackLine{rpc::kCallbackOver}.ToLine());
  }
  EXPECT_EQ(test::AllOf(*reported.front()), "");
  char byte = 0;
  pollfd hung_up{reported.front()->socket(), POLLIN, 0};
  EXPECT_EQ(poll(&hung_up, 1, Limit().PollTimeout()), 1);
  EXPECT_EQ(recv(reported.front()->socket(), &byte, 1, MSG_PEEK), 0);
}

TEST_F(CallbackListenerTest, ANodeThatDoesNotConnect) {
  const auto late = nodes_->Run(kNode, {"true"}, Deadline::After(milliseconds(10)), {});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Remedy(late.status()), HasSubstr(std::to_string(nodes_->port())));
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(nodes_->Run(kNode, {"true"}, Limit(), stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

// Another server at the chief's address, without the key.
TEST_F(CallbackListenerTest, AnImpostorGetsNoDataAndItsCommandsAreRefused) {
  const auto impostor = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(impostor.ok());
  const std::vector<std::string> addresses = {AtLoopback(impostor->address.port),
                                              AtLoopback(nodes_->port())};
  const auto caller = callback::StartClient(KeyLine(), addresses);
  ASSERT_TRUE(base::WaitReadable(impostor->socket.get(), Limit()).ok());
  base::UniqueFd fooled(accept4(impostor->socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
  std::string named;
  auto session = secure::Session::OfServer(std::move(fooled), [&](std::string_view identity) {
    named = identity;
    return secure::Key::Random();
  });
  EXPECT_FALSE(test::ShakeHands(*session));
  EXPECT_THAT(named, HasSubstr(kNode));
  session.reset();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, UnencryptedOrdersAreRefused) {
  const auto impostor = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(impostor.ok());
  const auto caller = callback::StartClient(
      KeyLine(), {AtLoopback(impostor->address.port), AtLoopback(nodes_->port())});
  ASSERT_TRUE(base::WaitReadable(impostor->socket.get(), Limit()).ok());
  const base::UniqueFd fooled(accept(impostor->socket.get(), nullptr, nullptr));
  ASSERT_TRUE(base::WriteAll(fooled.get(),
                             rpc::CallbackLine{rpc::kCallbackRun, 1, {"echo", "fooled"}}.ToLine(),
                             Limit())
                  .ok());
  EXPECT_THAT(ReadAll(fooled.get()), Not(HasSubstr("fooled")));
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

// An address that does not answer delays the others by a quarter of a second, not by its time
// limit.
TEST_F(CallbackListenerTest, UnresponsiveAddressesDelayTheOthersLittle) {
  std::vector<base::UniqueFd> kept;
  std::vector<std::string> addresses;
  for (int i = 0; i < 4; ++i) {
    const auto full = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
    ASSERT_TRUE(full.ok());
    ASSERT_EQ(listen(full->socket.get(), 0), 0);  // the backlog has room for one connection
    kept.push_back(ConnectTo(full->address.port));
    kept.emplace_back(dup(full->socket.get()));
    addresses.push_back(AtLoopback(full->address.port));
  }
  addresses.push_back(AtLoopback(nodes_->port()));
  const Deadline::Clock::time_point began = Deadline::Clock::now();
  const auto caller = callback::StartClient(KeyLine(), addresses);
  AwaitCalls(1);
  // One after the other they would take ten seconds each.
  EXPECT_LT(Deadline::Clock::now() - began, std::chrono::seconds(30));
}

TEST_F(CallbackListenerTest, AClientReconnectsWhenItsChiefIsRestarted) {
  auto before = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(before.ok());
  const uint16_t port = before->address.port;
  const auto caller = callback::StartClient(KeyLine(), {AtLoopback(port)});
  ASSERT_TRUE(base::WaitReadable(before->socket.get(), Limit()).ok());
  base::UniqueFd socket(accept4(before->socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
  auto session = secure::Session::OfServer(
      std::move(socket), [this](std::string_view) { return job_key_.ForNode(kNode); });
  EXPECT_TRUE(test::ShakeHands(*session));
  before->socket.Reset();
  session.reset();
  Listen({}, port);
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CallbackListenerTest, AClientEndsWithoutAChief) {
  const uint16_t port = nodes_->port();
  nodes_.reset();
  const auto caller = callback::StartClient(KeyLine(), {AtLoopback(port)}, "0");
  EXPECT_EQ(ExitOf(*caller), 1);
  EXPECT_THAT(caller->StderrTail(), HasSubstr("no chief at 127.0.0.1"));
}

TEST_F(CallbackListenerTest, TheEndOfAClientIsReportedOnce) {
  Listen({.gone = milliseconds(10)});
  Client client = ClientWithProgram();
  ASSERT_TRUE(client.waits);
  client.program.reset();
  client.waits.reset();
  CallbackTransport patient(nodes_, kNode, kLimit);
  const auto gone = patient.Run({"cat"}, {}).status();
  EXPECT_TRUE(ProofOfEnd::In(gone)) << gone;
  CallbackTransport transport(nodes_, kNode, milliseconds(100));
  // Another client may replace it.
  EXPECT_EQ(transport.Run({"cat"}, {}).status().code(), StatusCode::kDeadlineExceeded);
}

// Programs of the earlier one may still run, for example on a machine that is cut off.
TEST_F(CallbackListenerTest, TheEndOfAReplacementProvesNothing) {
  Listen({.gone = milliseconds(10)});
  const Client first = ClientWithProgram();
  ASSERT_TRUE(first.waits);
  const auto caller = StartClient();
  AwaitCalls(3);
  auto stream = Run({"cat"});
  AwaitCalls(4);
  stream.reset();
  kill(caller->pid(), SIGTERM);
  EXPECT_EQ(ExitOf(*caller), 128 + SIGTERM);
  CallbackTransport transport(nodes_, kNode, kLimit);
  const auto gone = transport.Run({"cat"}, {}).status();
  EXPECT_THAT(Message(gone), HasSubstr("has ended"));
  EXPECT_FALSE(ProofOfEnd::In(gone));
}

// It would run the program, and its end would not be noticed.
TEST_F(CallbackListenerTest, AClientThatWasAskedToEndStartsNoProgram) {
  Listen({.gone = milliseconds(10)});
  const auto caller = StartClient();
  auto stream = Run({"cat"});
  AwaitCalls(2);
  kill(caller->pid(), SIGTERM);
  CallbackTransport transport(nodes_, kNode, kLimit);
  for (int i = 0; i < 2; ++i) {
    const auto refused = transport.Run({"cat"}, {}).status();
    EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused;
  }
  stream.reset();
  EXPECT_EQ(ExitOf(*caller), 128 + SIGTERM);
  const auto gone = transport.Run({"cat"}, {}).status();
  EXPECT_TRUE(ProofOfEnd::In(gone)) << gone;
}

// Anything between may reset a connection.
TEST_F(CallbackListenerTest, AResetDoesNotShowThatAClientHasEnded) {
  Listen({.gone = milliseconds(10)});
  Client client = ClientWithProgram();
  ASSERT_TRUE(client.waits);
  base::ResetOnClose(client.waits->socket());
  client.program.reset();
  client.waits.reset();
  CallbackTransport transport(nodes_, kNode, milliseconds(300));
  EXPECT_EQ(transport.Run({"cat"}, {}).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CallbackListenerTest, AClientWhoseProgramsContinuedMayNotHaveEnded) {
  Listen({.gone = milliseconds(1), .together = milliseconds(1)});
  Client client = ClientWithProgram();
  ASSERT_TRUE(client.waits);
  shutdown(client.waits->socket(), SHUT_WR);
  pollfd closed{client.waits->socket(), POLLIN, 0};
  ASSERT_EQ(poll(&closed, 1, Limit().PollTimeout()), 1);  // the listener has seen the end
  std::this_thread::sleep_for(milliseconds(5));
  CallbackTransport transport(nodes_, kNode, milliseconds(300));
  EXPECT_EQ(transport.Run({"cat"}, {}).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CallbackListenerTest, AClientWithoutAKeyDoesNotConnect) {
  for (const std::string line : {"\n", "a b\n", "", "autodist-node-key 12\n"}) {
    const auto caller = callback::StartClient(line, {AtLoopback(nodes_->port())});
    EXPECT_EQ(ExitOf(*caller), 1);
  }
  const auto caller = callback::StartClient(KeyLine(), {"127.0.0.1"});
  EXPECT_EQ(ExitOf(*caller), 2);
}

TEST_F(CallbackListenerTest, AKilledClientLeavesItsProgramsRunning) {
  Listen({.gone = milliseconds(10)});
  const auto caller = StartClient();
  const auto stream = Run({"cat"});
  AwaitCalls(2);
  ASSERT_TRUE(stream);
  const base::UniqueFd socket = stream->TakeSocket();
  ASSERT_TRUE(base::WriteAll(socket.get(), "up\n", Limit()).ok());
  EXPECT_EQ(ReadLineFrom(socket.get()), "up\n");
  kill(caller->pid(), SIGKILL);
  EXPECT_TRUE(caller->WaitClosed(Limit()));
  ASSERT_TRUE(base::WriteAll(socket.get(), "on\n", Limit()).ok());
  EXPECT_EQ(ReadLineFrom(socket.get()), "on\n");
  CallbackTransport transport(nodes_, kNode, milliseconds(300));
  EXPECT_EQ(transport.Run({"cat"}, {}).status().code(), StatusCode::kDeadlineExceeded);
  shutdown(socket.get(), SHUT_WR);
  EXPECT_EQ(ReadAll(socket.get()), "");
}

// Its programs may run: a regular end would prove that they have ended.
TEST_F(CallbackListenerTest, AClientThatIsKilledWhileItConnectsResetsTheConnection) {
  const auto listener = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const auto caller = callback::StartClient(KeyLine(), {AtLoopback(listener->address.port)});
  ASSERT_TRUE(base::WaitReadable(listener->socket.get(), Limit()).ok());
  const base::UniqueFd socket(accept4(listener->socket.get(), nullptr, nullptr, SOCK_NONBLOCK));
  ASSERT_TRUE(base::WaitReadable(socket.get(), Limit()).ok());  // the handshake has begun
  kill(caller->pid(), SIGKILL);
  EXPECT_TRUE(caller->WaitClosed(Limit()));
  char bytes[4096];
  ssize_t got = 0;
  while ((got = recv(socket.get(), bytes, sizeof bytes, 0)) > 0) continue;
  EXPECT_EQ(got, -1);
  EXPECT_EQ(errno, ECONNRESET);
}

// A shell with the watchdog's name stands for it.
TEST_F(CallbackListenerTest, TheSchedulersSignalIsPassedToTheWatchdog) {
  const auto caller = StartClient();
  const auto watchdog =
      Run({"sh", "-c",
           "trap 'echo received; exit 0' TERM; printf autodist-guard > /proc/$$/comm; "
           "echo up; while :; do sleep 0.01; done"});
  ASSERT_TRUE(watchdog);
  const base::UniqueFd socket = watchdog->TakeSocket();
  EXPECT_EQ(ReadLineFrom(socket.get()), "up\n");
  kill(caller->pid(), SIGTERM);
  EXPECT_EQ(ReadAll(socket.get()), "received\n");
  EXPECT_EQ(ExitOf(*caller), 128 + SIGTERM);
}

}  // namespace
}  // namespace autodist::callback
