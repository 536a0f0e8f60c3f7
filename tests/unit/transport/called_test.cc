// Nodes that call in: the chief's side, against the agent's own caller, strangers and impostors.
#include "transport/called.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "base/listen_address.h"
#include "base/tcp_connect.h"
#include "process/spawn.h"
#include "support/limit.h"
#include "transport/local.h"

namespace autodist::transport {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using test::kLimit;
using testing::HasSubstr;

constexpr char kNode[] = "node-1";

Deadline Limit() { return Deadline::After(kLimit); }

std::string AtLoopback(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

struct EndCaller {
  void operator()(ProgramStream* caller) const {
    kill(caller->pid(), SIGKILL);
    delete caller;
  }
};
using Caller = std::unique_ptr<ProgramStream, EndCaller>;

// `autodist-agent call`, as an engine would run it.
Caller StartCaller(const std::string& words, const std::vector<std::string>& addresses,
                   const std::string& seconds = "60") {
  std::vector<std::string> argv = {AGENT_PROGRAM, "call", kNode, seconds};
  argv.insert(argv.end(), addresses.begin(), addresses.end());
  auto caller = StartProgram(argv);
  EXPECT_TRUE(caller.ok());
  const base::UniqueFd input = (*caller)->TakeSocket();
  // One that refuses its arguments may have ended.
  (void)base::WriteAll(input.get(), words, Limit()).ok();
  return Caller((*caller).release());
}

std::optional<int> ExitOf(ProgramStream& program) {
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

// What comes until the end of the stream, which a reset is as well.
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
  while (base::WaitReadable(fd, Limit()).ok()) {
    if (rpc::ReadLine(fd, line, 4096) != rpc::LineRead::kPart) break;
  }
  return line;
}

class CalledTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    Listen({});
  }

  void Listen(CallLimits limits, uint16_t port = 0) {
    nodes_.reset();
    auto nodes = CalledNodes::Listen({port, port}, words_, {kNode, "node-2"}, limits);
    ASSERT_TRUE(nodes.ok()) << nodes.status();
    nodes_ = *std::move(nodes);
  }

  Caller StartCaller() const {
    return transport::StartCaller(words_.ToLine(), {AtLoopback(nodes_->port())});
  }

  std::unique_ptr<Stream> Run(const std::vector<std::string>& argv) {
    CalledTransport transport(nodes_, kNode, kLimit);
    auto stream = transport.Run(argv, {});
    EXPECT_TRUE(stream.ok()) << stream.status();
    return stream.ok() ? *std::move(stream) : nullptr;
  }

  std::string OutputOf(const std::vector<std::string>& argv) {
    const auto stream = Run(argv);
    return stream ? ReadAll(stream->TakeSocket().get()) : "";
  }

  const rpc::CallWords words_ = rpc::CallWords::Make();
  std::shared_ptr<CalledNodes> nodes_;
};

TEST_F(CalledTest, EveryByteGoesBothWaysAndEachEndsByItself) {
  const auto caller = StartCaller();
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

TEST_F(CalledTest, ProgramsRunBesideEachOther) {
  const auto caller = StartCaller();
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

TEST_F(CalledTest, ArgumentsArriveAsTheyAre) {
  const auto caller = StartCaller();
  EXPECT_EQ(OutputOf({"printf", "<%s>", "", "a b\n", "$HOME'\"", "\xff"}),
            "<><a b\n><$HOME'\"><\xff>");
}

TEST_F(CalledTest, WhatAProgramSaysOnStderrComesAfterItsEnd) {
  const auto caller = StartCaller();
  const auto stream = Run({"sh", "-c", "echo reason >&2; exit 3"});
  ASSERT_TRUE(stream);
  EXPECT_TRUE(stream->WaitClosed(Limit()));
  EXPECT_EQ(stream->StderrTail(), "reason\n");
  const auto none = Run({"/no/such/program"});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->WaitClosed(Limit()));
  EXPECT_THAT(none->StderrTail(), HasSubstr("/no/such/program"));
}

TEST_F(CalledTest, AStreamThatIsGivenUpEndsTheProgramsInput) {
  const auto caller = StartCaller();
  const auto observed = Run({"sh", "-c", "read line; echo $line"});
  ASSERT_TRUE(observed);
  Run({"cat"}).reset();
  nodes_->Dismiss(Deadline::After(milliseconds(0)));
  const base::UniqueFd socket = observed->TakeSocket();
  ASSERT_TRUE(base::WriteAll(socket.get(), "on\n", Limit()).ok());
  EXPECT_EQ(ReadAll(socket.get()), "on\n");
  EXPECT_EQ(ExitOf(*caller), 0);  // when cat has ended
}

TEST_F(CalledTest, TheEndOfTheJobIsToldEvenBetweenTwoCalls) {
  const auto caller = StartCaller();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  nodes_->Dismiss(Limit());
  EXPECT_EQ(ExitOf(*caller), 0);
  EXPECT_FALSE(nodes_->Run(kNode, {"true"}, Limit(), {}).ok());
}

TEST_F(CalledTest, StrangersLearnNothingAndAreInNobodysWay) {
  const uint16_t port = nodes_->port();
  const std::string greeting = rpc::CallerGreeting(words_, kNode);
  for (const std::string& said :
       {rpc::CallerGreeting(rpc::CallWords::Make(), kNode), std::string("AUTODIST-CALL  node-1\n"),
        std::string("AUTODIST-CALL node-1\n"), rpc::CallerGreeting(words_, "node-3"),
        rpc::CallerGreeting(words_, "../x"), std::string("GET / HTTP/1.1\r\n\r\n"),
        std::string(5000, 'a'), std::string(5000, '\0') + "\n", std::string("\n")}) {
    const base::UniqueFd stranger = ConnectTo(port);
    ASSERT_TRUE(base::WriteAll(stranger.get(), said, Limit()).ok());
    EXPECT_EQ(ReadAll(stranger.get()), "") << said;
  }
  const base::UniqueFd half = ConnectTo(port);
  ASSERT_TRUE(base::WriteAll(half.get(), greeting.substr(0, 40), Limit()).ok());
  const auto caller = StartCaller();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CalledTest, AStrangerThatSaysNothingIsHungUp) {
  Listen({.greeting = milliseconds(50)});
  const base::UniqueFd stranger = ConnectTo(nodes_->port());
  EXPECT_EQ(ReadAll(stranger.get()), "");
}

TEST_F(CalledTest, OfTooManyStrangersTheFirstHasToGo) {
  Listen({.greeting = kLimit, .strangers = 3});
  std::vector<base::UniqueFd> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(ConnectTo(nodes_->port()));
  const auto caller = StartCaller();
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  EXPECT_EQ(ReadAll(strangers[0].get()), "");
}

TEST_F(CalledTest, ACallerThatDoesNotAnswerIsReplacedByTheNext) {
  Listen({.start = milliseconds(500)});
  const base::UniqueFd hangs = ConnectTo(nodes_->port());
  ASSERT_TRUE(base::WriteAll(hangs.get(), rpc::CallerGreeting(words_, kNode), Limit()).ok());
  Caller caller;
  std::thread later([&] {
    EXPECT_THAT(ReadLineFrom(hangs.get()), HasSubstr("AUTODIST-CHIEF"));
    EXPECT_THAT(ReadLineFrom(hangs.get()), HasSubstr("run"));
    caller = StartCaller();
    EXPECT_EQ(ReadAll(hangs.get()), "");
  });
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
  later.join();
}

TEST_F(CalledTest, ANodeThatDoesNotCall) {
  const auto late = nodes_->Run(kNode, {"true"}, Deadline::After(milliseconds(10)), {});
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Remedy(late.status()), HasSubstr(std::to_string(nodes_->port())));
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(nodes_->Run(kNode, {"true"}, Limit(), stop.get_token()).status().code(),
            StatusCode::kCancelled);
}

TEST_F(CalledTest, ACallerHeedsNoImpostor) {
  const auto impostor = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(impostor.ok());
  const auto caller = transport::StartCaller(
      words_.ToLine(), {AtLoopback(impostor->address.port), AtLoopback(nodes_->port())});
  ASSERT_TRUE(base::WaitReadable(impostor->socket.get(), Limit()).ok());
  const base::UniqueFd fooled(accept(impostor->socket.get(), nullptr, nullptr));
  EXPECT_EQ(ReadLineFrom(fooled.get()) + "\n", rpc::CallerGreeting(words_, kNode));
  const std::string orders = rpc::ChiefGreeting(rpc::CallWords::Make()) +
                             rpc::CallLine{rpc::kCallRun, 1, {"echo", "fooled"}}.ToLine();
  ASSERT_TRUE(base::WriteAll(fooled.get(), orders, Limit()).ok());
  EXPECT_EQ(ReadAll(fooled.get()), "");
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CalledTest, ACallerCallsAgainWhenItsChiefComesBack) {
  auto before = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(before.ok());
  const uint16_t port = before->address.port;
  const auto caller = transport::StartCaller(words_.ToLine(), {AtLoopback(port)});
  ASSERT_TRUE(base::WaitReadable(before->socket.get(), Limit()).ok());
  base::UniqueFd greeted(accept(before->socket.get(), nullptr, nullptr));
  ReadLineFrom(greeted.get());
  ASSERT_TRUE(base::WriteAll(greeted.get(), rpc::ChiefGreeting(words_), Limit()).ok());
  before->socket.Reset();
  greeted.Reset();
  Listen({}, port);
  EXPECT_EQ(OutputOf({"echo", "up"}), "up\n");
}

TEST_F(CalledTest, ACallerEndsWithoutAChief) {
  const uint16_t port = nodes_->port();
  nodes_.reset();
  const auto caller = transport::StartCaller(words_.ToLine(), {AtLoopback(port)}, "0");
  EXPECT_EQ(ExitOf(*caller), 1);
  EXPECT_THAT(caller->StderrTail(), HasSubstr("no chief at 127.0.0.1"));
}

TEST_F(CalledTest, OneThatHasEndedIsToldOnce) {
  Listen({.gone = milliseconds(10)});
  const auto call = [&] {
    base::UniqueFd socket = ConnectTo(nodes_->port());
    EXPECT_TRUE(base::WriteAll(socket.get(), rpc::CallerGreeting(words_, kNode), Limit()).ok());
    EXPECT_TRUE(rpc::IsChiefGreeting(ReadLineFrom(socket.get()), words_));
    return socket;
  };
  base::UniqueFd program = call();
  std::thread caller([&] {
    const auto order = rpc::CallLine::FromLine(ReadLineFrom(program.get()));
    const std::string started = rpc::CallLine{rpc::kCallStarted, order ? order->id : 0}.ToLine();
    EXPECT_TRUE(base::WriteAll(program.get(), started, Limit()).ok());
  });
  const auto stream = Run({"cat"});
  caller.join();
  base::UniqueFd waits = call();
  program.Reset();
  waits.Reset();
  CalledTransport transport(nodes_, kNode, milliseconds(100));
  const auto gone = transport.Run({"cat"}, {}).status();
  EXPECT_EQ(gone.code(), StatusCode::kAborted) << gone;
  // Another one may come in its place.
  EXPECT_EQ(transport.Run({"cat"}, {}).status().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(CalledTest, ACallerWithoutWordsCallsNobody) {
  for (const std::string words : {"\n", "a b\n", ""}) {
    const auto caller = transport::StartCaller(words, {AtLoopback(nodes_->port())});
    EXPECT_EQ(ExitOf(*caller), 1);
  }
  const auto caller = transport::StartCaller(words_.ToLine(), {"127.0.0.1"});
  EXPECT_EQ(ExitOf(*caller), 2);
}

// The guardian here is a shell that has its name.
TEST_F(CalledTest, TheEnginesSignalIsTheGuardians) {
  const auto caller = StartCaller();
  const auto guardian =
      Run({"sh", "-c",
           "trap 'echo told; exit 0' TERM; printf autodist-guard > /proc/$$/comm; "
           "echo up; while :; do sleep 0.01; done"});
  ASSERT_TRUE(guardian);
  const base::UniqueFd socket = guardian->TakeSocket();
  EXPECT_EQ(ReadLineFrom(socket.get()), "up");
  kill(caller->pid(), SIGTERM);
  EXPECT_EQ(ReadAll(socket.get()), "told\n");
  EXPECT_EQ(ExitOf(*caller), 128 + SIGTERM);
}

}  // namespace
}  // namespace autodist::transport
