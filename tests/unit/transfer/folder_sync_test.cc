// The chief's part of AgentService.Sync, with simulated agents.
#include "transfer/folder_sync.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "files/digest.h"
#include "rpc/message_rules.h"
#include "secure/key.h"
#include "support/blockable_line.h"
#include "support/grpc_server.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::transfer {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

using AgentEnd = grpc::ServerReaderWriter<v1::SyncResponse, v1::SyncRequest>;

class FakeAgent final : public v1::AgentService::Service {
 public:
  grpc::Status Sync(grpc::ServerContext*, AgentEnd* stream) override { return behave(*stream); }
  std::function<grpc::Status(AgentEnd&)> behave;
};

class FolderSyncTest : public testing::Test {
 protected:
  // gRPC shuts down with its last user, and may then wait ten seconds for closing connections.
  static void SetUpTestSuite() {
    static const auto user = new std::shared_ptr(rpc::ChannelTo("/nowhere"));
    (void)user;
  }
  ~FolderSyncTest() override { line_.End(); }

  Status Copy(milliseconds stall_limit = kStallLimit) { return Copy({.stall_limit = stall_limit}); }
  Status Copy(SyncOptions options) {
    options.target = folder_.path();
    options.nodes = 1;
    FolderSync sync(*files::ScanFolder(folder_.path(), ""), std::move(options));
    return sync.CopyTo(
        0, *agent_, [this] { line_.HangUp(); }, stop_.get_token());
  }
  // Copies, and returns what was logged.
  std::string LogOf(SyncOptions options) {
    testing::internal::CaptureStderr();
    const Status status = Copy(std::move(options));
    EXPECT_TRUE(status.ok()) << status;
    return testing::internal::GetCapturedStderr();
  }

  // Reads begin and lists; answers with these differences.
  static void Answer(AgentEnd& agent, const v1::SyncDifferences& differences) {
    v1::SyncRequest request;
    agent.Read(&request);
    v1::SyncResponse response;
    response.mutable_target_info();
    agent.Write(response);
    do {
      if (!agent.Read(&request)) return;  // the call has ended
    } while (!request.list().last());
    *response.mutable_differences() = differences;
    response.mutable_differences()->set_last(true);
    agent.Write(response);
  }
  // Blocks the connection in the middle of a file; the agent stays until `over`.
  void TakeNothing(std::future<void> over, std::function<void(AgentEnd&)> then) {
    folder_.Write("a", std::string(50'000'000, 'x'));
    const auto shared = std::make_shared<std::future<void>>(std::move(over));
    service_.behave = [this, shared, then = std::move(then)](AgentEnd& agent) {
      v1::SyncDifferences differences;
      differences.add_wanted(0);
      Answer(agent, differences);
      v1::SyncRequest request;
      agent.Read(&request);
      line_.Stop();
      then(agent);
      shared->wait();
      return grpc::Status::OK;
    };
  }
  static grpc::Status Finish(AgentEnd& agent, const std::string& error = "",
                             const std::string& remedy = "") {
    v1::SyncResponse response;
    response.mutable_finished()->set_error(error);
    response.mutable_finished()->set_remedy(remedy);
    agent.Write(response);
    return grpc::Status::OK;
  }
  static grpc::Status ReadAll(AgentEnd& agent) {
    v1::SyncRequest request;
    while (agent.Read(&request)) {
    }
    return grpc::Status::CANCELLED;
  }

  const test::TempFolder folder_;
  FakeAgent service_;
  test::BlockableLine line_;
  test::GrpcServer server_{&service_};
  const std::unique_ptr<v1::AgentService::Stub> agent_ =
      v1::AgentService::NewStub(*rpc::ChannelOver(line_.To(server_.Connect())));
  std::stop_source stop_;
};

TEST_F(FolderSyncTest, SendsRequestedFilesCompletely) {
  const std::string large(700'000, 'x');
  folder_.Write("a", "not wanted");
  folder_.Write("b", large);
  folder_.Write("c", "");
  std::map<uint64_t, std::string> got;
  service_.behave = [&got](AgentEnd& agent) {
    v1::SyncDifferences differences;
    for (const uint64_t wanted : {1u, 2u}) differences.add_wanted(wanted);
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request) && !request.has_complete()) {
      EXPECT_LE(request.content().data().size(), 256u * 1024);
      got[request.content().entry()] += request.content().data();
    }
    return Finish(agent);
  };
  const Status status = Copy();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(got, (std::map<uint64_t, std::string>{{1, large}, {2, ""}}));
}

TEST_F(FolderSyncTest, ComparesDigestCandidates) {
  const std::string same = *files::DigestOfFile(folder_.Write("a", "same"));
  folder_.Write("b", "ours");
  std::vector<std::string> messages;
  service_.behave = [&](AgentEnd& agent) {
    v1::SyncDifferences differences;
    for (const uint64_t index : {0u, 1u}) {
      v1::DigestCandidate& suspect = *differences.add_digest_candidates();
      suspect.set_entry(index);
      suspect.set_digest(same);
    }
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request) && !request.has_complete()) {
      messages.push_back(request.ShortDebugString());
    }
    return Finish(agent);
  };
  EXPECT_TRUE(Copy().ok());
  EXPECT_THAT(messages, testing::ElementsAre("same { entries: 0 }",
                                             "content { entry: 1 data: \"ours\" last: true }"));
}

class RelayTest : public FolderSyncTest {
 protected:
  // Runs three nodes: the first runs `first` when it is to pass files on, the others run `other`.
  Status Run(std::function<void(AgentEnd&)> first, std::function<void(AgentEnd&)> other,
             const std::string& failure_of_first = "") {
    v1::NodePlan node;
    node.set_data_address("10.0.0.1");
    FolderSync sync(*files::ScanFolder(folder_.path(), ""), {.target = folder_.path(), .nodes = 3},
                    std::make_unique<FileRelay>(node, 2));
    std::vector<FakeAgent> services(3);
    for (FakeAgent& service : services) {
      service.behave = [&, is_first = &service == &services[0]](AgentEnd& agent) {
        v1::SyncDifferences differences;
        for (const uint64_t wanted : {0u, 1u}) differences.add_wanted(wanted);
        Answer(agent, differences);
        (is_first ? first : other)(agent);
        return Finish(agent, is_first ? failure_of_first : "");
      };
    }
    std::vector<std::future<Status>> copies;
    std::vector<std::unique_ptr<test::GrpcServer>> servers;
    for (uint32_t rank : {2u, 1u, 0u}) {
      servers.push_back(std::make_unique<test::GrpcServer>(
          std::initializer_list<grpc::Service*>{&services[rank]}));
      copies.push_back(
          std::async(std::launch::async, [&sync, rank, this, &server = *servers.back()] {
            const auto agent = v1::AgentService::NewStub(server.Channel());
            return sync.CopyTo(
                rank, *agent, [] {}, stop_.get_token());
          }));
    }
    Status all;
    for (auto& copy : copies) {
      const Status status = copy.get();
      if (all.ok()) all = status;
    }
    return all;
  }
  // Counts content from the chief until another request, which is stored in `next`.
  static uint64_t BytesFromHere(AgentEnd& agent, v1::SyncRequest& next) {
    uint64_t bytes = 0;
    while (agent.Read(&next) && (next.has_content() || next.message_case() == 0)) {
      bytes += next.content().data().size();
    }
    return bytes;
  }
};

TEST_F(RelayTest, TheContentIsSentOnce) {
  folder_.Write("a", "content");
  const std::string digest = *files::DigestOfFile(folder_.Write("b", "other"));
  std::atomic<int> ended = 0;
  std::string key;
  const auto first = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    EXPECT_EQ(BytesFromHere(agent, request), 12u);
    ASSERT_TRUE(request.has_relay());
    key = request.relay().key();
    EXPECT_TRUE(secure::Key::FromHex(key));
    v1::SyncResponse response;
    response.mutable_passing_on()->set_address("10.0.0.2");  // not queried
    response.mutable_passing_on()->set_port(7);
    agent.Write(response);
    EXPECT_EQ(BytesFromHere(agent, request), 0u);
    EXPECT_TRUE(request.has_complete());
    EXPECT_EQ(ended, 2);
  };
  const auto other = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    EXPECT_EQ(BytesFromHere(agent, request), 0u);
    const v1::SyncPassed& passed = request.passed();
    EXPECT_EQ(passed.source().address() + ":" + std::to_string(passed.source().port()),
              "10.0.0.1:7");
    EXPECT_EQ(passed.source().key(), key);
    ASSERT_EQ(passed.files_size(), 2);
    EXPECT_EQ(passed.files(1).digest(), digest);
    v1::SyncResponse response;
    response.mutable_unavailable();
    agent.Write(response);
    EXPECT_EQ(BytesFromHere(agent, request), 0u);
    EXPECT_TRUE(request.has_complete());
    ++ended;
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Run(first, other).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("synced: 2 files, 12 bytes sent once, passed on to 2 nodes in "));
}

TEST_F(RelayTest, OtherNodesDigestsAreOfTheSentDataWhichIsNotReadAgain) {
  const std::string content(700'000, 'x');  // in several pieces
  const std::string digest = *files::DigestOfFile(folder_.Write("a", content));
  folder_.Write("b", "other");
  const auto first = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    EXPECT_EQ(BytesFromHere(agent, request), content.size() + 5);
    std::filesystem::remove(folder_.path() + "/a");
    v1::SyncResponse response;
    response.mutable_passing_on()->set_address("10.0.0.1");
    response.mutable_passing_on()->set_port(7);
    agent.Write(response);
    BytesFromHere(agent, request);
  };
  const auto other = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    BytesFromHere(agent, request);
    ASSERT_EQ(request.passed().files_size(), 2);
    EXPECT_EQ(request.passed().files(0).digest(), digest);
    v1::SyncResponse response;
    response.mutable_unavailable();
    agent.Write(response);
    BytesFromHere(agent, request);
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Run(first, other).ok());
  (void)testing::internal::GetCapturedStderr();
}

TEST_F(RelayTest, FilesThatTheFirstNodeLacksAreSentByTheChief) {
  folder_.Write("a", "content");
  folder_.Write("b", "other");
  const auto first = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    BytesFromHere(agent, request);
    v1::SyncResponse response;
    response.mutable_passing_on()->set_address("10.0.0.1");
    response.mutable_passing_on()->set_port(7);
    agent.Write(response);
    BytesFromHere(agent, request);
  };
  const auto other = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    BytesFromHere(agent, request);
    v1::SyncResponse response;
    response.mutable_unavailable()->add_entries(1);
    agent.Write(response);
    EXPECT_EQ(BytesFromHere(agent, request), 5u);
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Run(first, other).ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::ContainsRegex(
                  "synced: 2 files, 12 bytes sent to 3 nodes, passed on to 2 nodes in .*; 2 nodes "
                  "could not get all files from the first node, and got them from here"));
}

TEST_F(RelayTest, TheChiefSendsIfTheFirstNodeCannotPassFilesOn) {
  folder_.Write("a", "content");
  folder_.Write("b", "other");
  const auto other = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    EXPECT_EQ(BytesFromHere(agent, request), 12u);
    EXPECT_TRUE(request.has_complete());
  };
  const auto no_port = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    BytesFromHere(agent, request);
    v1::SyncResponse response;
    response.mutable_passing_on();
    agent.Write(response);
    BytesFromHere(agent, request);
  };
  EXPECT_TRUE(Run(no_port, other).ok());
  // If it has failed, that is the only error.
  EXPECT_EQ(Message(Run([](AgentEnd&) {}, other, "disk full")), "disk full");
}

TEST_F(FolderSyncTest, MarksTheFolderWhileItRuns) {
  service_.behave = [this](AgentEnd& agent) {
    v1::SyncRequest request;
    agent.Read(&request);
    EXPECT_EQ(request.begin().folder(), folder_.path());
    EXPECT_TRUE(fs::exists(folder_.path() + "/" + request.begin().probe()));
    v1::SyncResponse response;
    response.mutable_target_info()->set_same_folder(true);
    agent.Write(response);
    return Finish(agent);
  };
  EXPECT_TRUE(Copy().ok());
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  service_.behave = [](AgentEnd&) { return grpc::Status(grpc::StatusCode::INTERNAL, "oh"); };
  EXPECT_THAT(Message(Copy()), HasSubstr("oh"));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(FolderSyncTest, ANumberThatBreaksARuleIsNotCounted) {
  service_.behave = [](AgentEnd& agent) {
    for (const uint64_t bytes : {5u, 3u, 7u}) {
      v1::SyncResponse response;
      response.mutable_bytes_written()->set_bytes(bytes);
      agent.Write(response);
    }
    return Finish(agent);
  };
  std::vector<uint64_t> counted;
  {
    SyncStream stream(
        *agent_, SyncRules(1, 10), {}, kStallLimit, [] {},
        [&](uint64_t bytes) { counted.push_back(bytes); });
    EXPECT_FALSE(stream.Read());
    EXPECT_THAT(Message(stream.End()), HasSubstr("a bytes_written for 3 of 10 bytes"));
  }
  EXPECT_THAT(counted, testing::ElementsAre(5));
}

TEST_F(FolderSyncTest, ReportsErrorsOfTheNode) {
  folder_.Write("a", std::string(50'000'000, 'x'));
  service_.behave = [](AgentEnd& agent) {
    v1::SyncDifferences differences;
    differences.add_wanted(0);
    Answer(agent, differences);
    return Finish(agent, "disk full", "buy one");  // while the chief is sending
  };
  const Status status = Copy();
  EXPECT_EQ(Message(status), "disk full");
  EXPECT_EQ(Remedy(status), "buy one");
}

TEST_F(FolderSyncTest, AFileThatChangesInTheMeantimeIsNotSent) {
  folder_.Write("a", "first");
  bool complete = false;
  service_.behave = [&](AgentEnd& agent) {
    folder_.Write("a", "second");
    v1::SyncDifferences differences;
    differences.add_wanted(0);
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request)) complete |= request.has_complete() || request.content().last();
    return grpc::Status::OK;
  };
  const Status status = Copy();
  EXPECT_THAT(Message(status), HasSubstr("/a on this machine has changed"));
  EXPECT_THAT(Remedy(status), HasSubstr(".autodistignore"));
  server_.Shutdown();
  EXPECT_FALSE(complete);
}

TEST_F(FolderSyncTest, AFileThatGrowsIsSentWithItsFirstSize) {
  folder_.Write("log", "first");
  std::string got;
  service_.behave = [&](AgentEnd& agent) {
    folder_.Write("log", "first and more");
    v1::SyncDifferences differences;
    differences.add_wanted(0);
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request) && !request.has_complete()) got += request.content().data();
    return Finish(agent);
  };
  EXPECT_TRUE(Copy().ok());
  EXPECT_EQ(got, "first");
}

TEST_F(FolderSyncTest, HolesAreNotSent) {
  const std::string path = folder_.Write("image", "");
  const int fd = open(path.c_str(), O_WRONLY);
  ASSERT_EQ(pwrite(fd, "x", 1, 1'000'000'000), 1);
  ASSERT_EQ(ftruncate(fd, 2'000'000'000), 0);
  close(fd);
  uint64_t holes = 0;
  uint64_t data = 0;
  service_.behave = [&](AgentEnd& agent) {
    v1::SyncDifferences differences;
    differences.add_wanted(0);
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request) && !request.has_complete()) {
      holes += request.content().hole();
      data += request.content().data().size();
    }
    return Finish(agent);
  };
  EXPECT_TRUE(Copy().ok());
  EXPECT_EQ(holes + data, 2'000'000'000u);
  EXPECT_LE(data, 1u << 20);  // what the file system uses for a byte
}

TEST_F(FolderSyncTest, RulesAndOwnFilesAreSentBeforeTheList) {
  folder_.Write(".gitignore", "*.o\n");
  folder_.Write(".autodistignore", "data\n");
  std::vector<std::string> messages;
  service_.behave = [&](AgentEnd& agent) {
    v1::SyncRequest request;
    agent.Read(&request);
    EXPECT_TRUE(request.begin().mirror());
    v1::SyncResponse response;
    response.mutable_target_info();
    agent.Write(response);
    agent.Read(&request);
    messages.push_back(request.ShortDebugString());
    return Finish(agent);
  };
  EXPECT_TRUE(Copy({.mirror = true}).ok());
  EXPECT_THAT(messages, testing::ElementsAre("ignore { git: \"*.o\\n\" own: \"data\\n\" }"));
}

TEST_F(FolderSyncTest, FilesThatOnlyTheNodeHasAreNamed) {
  const auto answer = [](AgentEnd& agent) {
    v1::SyncRequest request;
    agent.Read(&request);
    v1::SyncResponse response;
    response.mutable_target_info()->set_everyone_writes(true);
    agent.Write(response);
    do {
      agent.Read(&request);
    } while (!request.list().last());
    response.mutable_extra()->add_paths("old.py");
    agent.Write(response);
    response.mutable_differences()->set_last(true);
    agent.Write(response);
    while (agent.Read(&request) && !request.has_complete()) {
    }
    return Finish(agent);
  };
  service_.behave = answer;
  const std::vector<std::string> hosts = {"host1", "host2"};
  EXPECT_THAT(LogOf({.addresses = hosts}),
              testing::AllOf(HasSubstr("everyone can write in " + folder_.path() + " on host1"),
                             HasSubstr("this machine does not have: old.py on host1"),
                             HasSubstr("--sync-delete")));
  EXPECT_THAT(LogOf({.addresses = {"host1"}}), testing::Not(HasSubstr("old.py")))
      << "all nodes have it";
  EXPECT_THAT(LogOf({.addresses = hosts, .mirror = true}),
              HasSubstr("deleted, because this machine does not have it: old.py on host1"));
}

TEST_F(FolderSyncTest, AWarningIsLoggedOnlyIfItsNodeGetsContent) {
  folder_.Write("a", "x");
  bool lacks = false;
  service_.behave = [&](AgentEnd& agent) {
    v1::SyncDifferences differences;
    if (lacks) differences.add_wanted(0);
    Answer(agent, differences);
    v1::SyncRequest request;
    while (agent.Read(&request) && !request.has_complete()) {
    }
    return Finish(agent);
  };
  const auto log_of = [this](uint32_t node) {
    return LogOf({.warnings = {{{node}, "a job runs there"}}});
  };
  EXPECT_THAT(log_of(0), testing::Not(HasSubstr("a job runs there")));
  lacks = true;
  EXPECT_THAT(log_of(0), HasSubstr("warning: a job runs there\n"));
  EXPECT_THAT(log_of(1), testing::Not(HasSubstr("a job runs there")));
}

TEST_F(FolderSyncTest, APreviewEndsAfterTheList) {
  service_.behave = [](AgentEnd& agent) {
    v1::SyncRequest request;
    agent.Read(&request);
    EXPECT_TRUE(request.begin().preview());
    v1::SyncResponse response;
    response.mutable_target_info();
    agent.Write(response);
    do {
      agent.Read(&request);
    } while (!request.list().last());
    response.mutable_extra()->add_paths("old.py");
    agent.Write(response);
    return Finish(agent);
  };
  const std::string log = LogOf({.addresses = {"host1", "host2"}, .mirror = true, .preview = true});
  EXPECT_THAT(log, HasSubstr("to delete on the nodes: old.py on host1\n"));
  EXPECT_THAT(log, testing::Not(HasSubstr("synced")));
}

TEST_F(FolderSyncTest, AnIdleAgentTimesOut) {
  folder_.Write("a", std::string(50'000'000, 'x'));
  service_.behave = ReadAll;
  EXPECT_EQ(Copy(milliseconds(100)).code(), StatusCode::kDeadlineExceeded);
  std::promise<void> over;
  service_.behave = [&over](AgentEnd& agent) {  // it does not read, either
    v1::SyncDifferences differences;
    differences.add_wanted(0);
    Answer(agent, differences);
    over.get_future().wait();
    return grpc::Status::OK;
  };
  EXPECT_EQ(Copy(milliseconds(100)).code(), StatusCode::kDeadlineExceeded);
  over.set_value();
}

// gRPC finishes a write that it has started before it lets a call end.
TEST_F(FolderSyncTest, ABlockedConnectionTimesOut) {
  std::promise<void> over;
  TakeNothing(over.get_future(), [](AgentEnd&) {});
  EXPECT_EQ(Copy(milliseconds(300)).code(), StatusCode::kDeadlineExceeded);
  over.set_value();
}

TEST_F(FolderSyncTest, CanBeCancelledWhileTheConnectionIsBlocked) {
  std::promise<void> over;
  TakeNothing(over.get_future(), [stop = stop_](AgentEnd&) { stop.request_stop(); });
  EXPECT_EQ(Copy().code(), StatusCode::kCancelled);
  over.set_value();
}

TEST_F(FolderSyncTest, ABrokenRuleEndsABlockedConnectionToo) {
  std::promise<void> over;
  TakeNothing(over.get_future(), [](AgentEnd& agent) {
    v1::SyncResponse again;
    again.mutable_target_info();
    agent.Write(again);
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(rpc::IsBrokenRule(Copy()));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kStallLimit / 2);
  over.set_value();
}

TEST_F(FolderSyncTest, CanBeCancelled) {
  // A copy: the call may outlive the test.
  service_.behave = [stop = stop_](AgentEnd& agent) {
    stop.request_stop();
    return ReadAll(agent);
  };
  EXPECT_EQ(Copy().code(), StatusCode::kCancelled);
  EXPECT_EQ(Copy().code(), StatusCode::kCancelled);  // cancelled before
}

TEST_F(FolderSyncTest, InvalidNumbersAreRefused) {
  for (const uint64_t wrong : {uint64_t{1}, UINT64_MAX}) {
    for (const bool suspect : {false, true}) {
      service_.behave = [=](AgentEnd& agent) {
        v1::SyncDifferences differences;
        if (suspect) {
          differences.add_digest_candidates()->set_entry(wrong);
        } else {
          differences.add_wanted(wrong);
        }
        Answer(agent, differences);
        return ReadAll(agent);
      };
      const Status status = Copy();
      EXPECT_TRUE(rpc::IsBrokenRule(status)) << Message(status);
    }
  }
}

TEST_F(FolderSyncTest, AnAgentThatLeavesEarlyIsAnError) {
  service_.behave = [](AgentEnd&) { return grpc::Status::OK; };
  EXPECT_THAT(Message(Copy()), HasSubstr("the agent ended the transfer without a result"));
}

TEST(SyncProgressTest, OneLineThatFits) {
  EXPECT_EQ(ProgressLine("w", 0, 100, 0, 80), "w  [--------------------]  0 %  0 bytes/s");
  EXPECT_EQ(ProgressLine("w", 52, 100, 104'000'000, 80),
            "w  [##########----------]  52 %  104 MB/s");
  EXPECT_EQ(ProgressLine("w", 100, 100, 7, 80), "w  [####################]  100 %  7 bytes/s");
  EXPECT_EQ(ProgressLine("w", 200, 100, 7, 80), "w  [####################]  100 %  7 bytes/s");
  EXPECT_EQ(ProgressLine("w", 0, 0, 0, 80), "w  [--------------------]  0 %  0 bytes/s");
  EXPECT_EQ(ProgressLine("what", 0, 1, 0, 6), "what  ");
}

TEST(SyncProgressTest, NodesThatAreNotReachedAreNamed) {
  const struct {
    size_t nodes;
    bool busy;
    std::vector<std::string> unreached;
    std::string expected;
  } rows[] = {
      {1, true, {}, "comparing 2 files with 1 node"},
      {2, true, {}, "comparing 2 files with 2 nodes"},
      {2, true, {"b"}, "comparing 2 files with 1 of 2 nodes; connecting to b"},
      {2, false, {"b"}, "connecting to b"},
      {3, false, {"b", "c"}, "connecting to b and c"},
      {9, false, {"b", "c", "d"}, "connecting to b, c and d"},
      {9, false, {"b", "c", "d", "e"}, "connecting to b, c and 2 others"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(WaitsText("2 files", row.nodes, row.busy, row.unreached), row.expected);
  }
}

TEST(SyncProgressTest, TheShareIsOfTheTotalThatBelongsToTheText) {
  const char* const terminal = getenv("TERM");
  const std::string before = terminal ? terminal : "";
  setenv("TERM", "dumb", 1);  // lines, even at a terminal
  std::promise<std::string> first;
  base::SetLogWriter([&, said = false](base::LogLevel, std::string_view line) mutable {
    if (!std::exchange(said, true)) first.set_value(std::string(line));
  });
  {
    SyncProgress progress;
    progress.Sends("syncing 1 file", 50);
    progress.Sent(20);
    std::future<std::string> line = first.get_future();
    const bool logged = line.wait_for(test::kLimit) == std::future_status::ready;
    EXPECT_THAT(logged ? line.get() : "", testing::StartsWith("syncing 1 file: 40 %, "));
  }
  base::SetLogWriter(nullptr);
  terminal ? setenv("TERM", before.c_str(), 1) : unsetenv("TERM");
}

}  // namespace
}  // namespace autodist::transfer
