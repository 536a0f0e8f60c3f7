// The chief's part of AgentService.FetchFiles, with simulated agents.
#include "transfer/fetch_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "files/temporary_file.h"
#include "rpc/limits.h"
#include "rpc/message_rules.h"
#include "support/blockable_line.h"
#include "support/grpc_server.h"
#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::transfer {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kFileTime = 1'600'000'000'123'456'789;

using Writer = grpc::ServerWriter<v1::FetchFilesResponse>;

class SendingAgent final : public v1::AgentService::Service {
 public:
  grpc::Status FetchFiles(grpc::ServerContext* context, const v1::FetchFilesRequest* request,
                          Writer* writer) override {
    Behaviour behaviour;
    {
      const std::lock_guard lock(mutex_);
      asked = *request;
      behaviour = behaviour_;
    }
    behaviour(*context, *writer);
    return grpc::Status::OK;
  }
  using Behaviour = std::function<void(grpc::ServerContext&, Writer&)>;
  // Applies from the next call on; a cancelled one may still be running.
  void Behave(Behaviour behaviour) {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(behaviour);
  }

  v1::FetchFilesRequest asked;

 private:
  std::mutex mutex_;
  Behaviour behaviour_;  // guarded by mutex_
};

class FetchFilesTest : public testing::Test {
 protected:
  // gRPC shuts down with its last user, and may then wait ten seconds for closing connections.
  static void SetUpTestSuite() {
    static const auto user = new std::shared_ptr(rpc::ChannelTo("/nowhere"));
    (void)user;
  }

  FetchedFiles Fetch() {
    FetchedFolder folder(temp_.path(), "node");
    return FetchFiles(
        *agent_, order_, folder, [] {}, stop_.get_token());
  }
  // Fetches from an agent that sends these messages in order.
  FetchedFiles FetchOf(const std::vector<v1::FetchFilesResponse>& said) {
    service_.Behave([said](grpc::ServerContext&, Writer& writer) {
      for (const v1::FetchFilesResponse& response : said) writer.Write(response);
    });
    return Fetch();
  }

  static v1::FetchFilesResponse Found(uint64_t files, uint64_t bytes = 0) {
    v1::FetchFilesResponse response;
    response.mutable_found()->set_files(files);
    response.mutable_found()->set_bytes(bytes);
    return response;
  }
  static v1::FetchFilesResponse File(const std::string& path, uint64_t size) {
    v1::FetchFilesResponse response;
    response.mutable_file()->set_path(path);
    response.mutable_file()->set_size(size);
    response.mutable_file()->set_mode(0100640);
    response.mutable_file()->set_modified_ns(kFileTime);
    return response;
  }
  static v1::FetchFilesResponse Content(const std::string& data, bool last, bool changed = false) {
    v1::FetchFilesResponse response;
    response.mutable_content()->set_data(data);
    response.mutable_content()->set_last(last);
    response.mutable_content()->set_changed(changed);
    return response;
  }
  static v1::FetchFilesResponse Finished(const std::string& error = "") {
    v1::FetchFilesResponse response;
    response.mutable_finished()->set_error(error);
    return response;
  }
  // All files in the log folder, including hidden ones.
  std::vector<std::string> All() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(temp_.path())) {
      paths.push_back(entry.path().lexically_relative(temp_.path()));
    }
    std::ranges::sort(paths);
    return paths;
  }

  const test::TempFolder temp_;
  FetchOrder order_{"/work", {"ckpt*"}, "", kMaxFetchedBytes, kFetchSilence};
  std::stop_source stop_;
  SendingAgent service_;
  test::GrpcServer server_{&service_};
  const std::unique_ptr<v1::AgentService::Stub> agent_ =
      v1::AgentService::NewStub(server_.Channel());
};

TEST_F(FetchFilesTest, FilesArriveWithTheirPermissionsAndTimes) {
  order_.probe = "p";
  const FetchedFiles fetched = FetchOf({{},
                                        Found(3, 7),
                                        File("a/b/c", 6),
                                        Content("one", false),
                                        Content("two", true),
                                        File("empty", 0),
                                        Content("", true),
                                        File("d", 1),
                                        Content("x", true),
                                        Finished()});
  ASSERT_TRUE(fetched.status.ok()) << fetched.status;
  EXPECT_EQ(fetched.files, 3);
  EXPECT_EQ(fetched.bytes, 7);
  EXPECT_EQ(temp_.Read("node/a/b/c"), "onetwo");
  EXPECT_EQ(temp_.Read("node/empty"), "");
  struct stat info;
  ASSERT_EQ(stat((temp_.path() + "/node/a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640);
  EXPECT_EQ(info.st_mtim.tv_nsec, 123'456'789);
  EXPECT_EQ(service_.asked.folder(), "/work");
  EXPECT_THAT(service_.asked.patterns(), ElementsAre("ckpt*"));
  EXPECT_EQ(service_.asked.probe(), "p");
}

TEST_F(FetchFilesTest, ANodeWithTheSameFolderIsNotQueried) {
  v1::FetchFilesResponse same;
  same.mutable_found()->set_same_folder(true);
  const FetchedFiles fetched = FetchOf({same, Finished()});
  EXPECT_TRUE(fetched.status.ok());
  EXPECT_TRUE(fetched.same_folder);
  EXPECT_THAT(All(), ElementsAre());
}

TEST_F(FetchFilesTest, AnInvalidAnswerIsABrokenRuleAndLeavesNoFiles) {
  const std::string large(rpc::kLargestFetchPiece + 1, 'x');
  const std::vector<std::vector<v1::FetchFilesResponse>> lies = {
      {Found(1), File("../x", 1)},
      {Found(1), File("/etc/x", 1)},
      {Found(1), File("a/../../x", 1)},
      {Found(1), File("a//x", 1)},
      {Found(1), File("", 1)},
      {Found(1), File(".", 1)},
      {Found(1), File(std::string("a\0b", 3), 1)},
      {Found(1), File(std::string(5000, 'x'), 1)},
      {Found(1), File("x", uint64_t{1} << 63)},
      {File("x", 1)},
      {Found(0), File("x", 1)},
      {Found(1), Content("x", true)},
      {Found(1), File("x", 1), File("y", 1)},
      {Found(1), File("x", 2), Content("xxx", true)},
      {Found(1), File("x", 2), Content("", false)},
      {Found(1), File("x", large.size()), Content(large, true)},
      {Found(1), File("x", 1), Finished()},
      {Found(1), Found(1)},
      {Found(rpc::kMaxFetchedFiles + 1)},
      {Finished()},
      {Found(0), Finished(std::string(rpc::kMaxTextLength + 1, 'x'))},
      {Found(0), Finished(), Found(0)},
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    const FetchedFiles fetched = FetchOf(lies[i]);
    EXPECT_TRUE(rpc::IsBrokenRule(fetched.status)) << i << ": " << fetched.status;
    for (const std::string& path : All()) EXPECT_EQ(path, "node") << i;
  }
}

TEST_F(FetchFilesTest, ExistingLinksAreNotFollowed) {
  const test::TempFolder elsewhere;
  fs::create_directory(temp_.path() + "/node");
  fs::create_directory_symlink(elsewhere.path(), temp_.path() + "/node/a");
  const FetchedFiles through = FetchOf({Found(1), File("a/x", 1), Content("x", true), Finished()});
  EXPECT_THAT(Message(through.status), HasSubstr("the folder a in the log folder"));
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));

  // A link in place of the file is replaced.
  elsewhere.Write("target", "old");
  fs::create_symlink(elsewhere.path() + "/target", temp_.path() + "/node/b");
  EXPECT_TRUE(FetchOf({Found(1), File("b", 1), Content("x", true), Finished()}).status.ok());
  EXPECT_EQ(elsewhere.Read("target"), "old");
  EXPECT_EQ(temp_.Read("node/b"), "x");

  fs::remove_all(temp_.path() + "/node");
  fs::create_directory_symlink(elsewhere.path(), temp_.path() + "/node");
  EXPECT_FALSE(FetchOf({Found(1), File("y", 1), Content("x", true), Finished()}).status.ok());
  EXPECT_FALSE(fs::exists(elsewhere.path() + "/y"));
}

TEST_F(FetchFilesTest, TheSizeLimitIsCheckedBeforeAndDuringAFile) {
  order_.most_bytes = 10;
  const FetchedFiles at_once = FetchOf({Found(2, 11), Finished()});
  EXPECT_THAT(Message(at_once.status),
              HasSubstr("2 files with 11 bytes on the node, more than the limit of 10"));
  EXPECT_THAT(Remedy(at_once.status), HasSubstr("--max-size"));
  const FetchedFiles grown = FetchOf({Found(2, 10), File("a", 6), Content("xxxxxx", true),
                                      File("b", 6), Content("xxxxxx", true), Finished()});
  EXPECT_FALSE(grown.status.ok());
  EXPECT_EQ(grown.files, 1);
  EXPECT_THAT(All(), ElementsAre("node", "node/a"));
}

TEST_F(FetchFilesTest, AShrunkFileIsNotKeptAndAChangedOneIsReported) {
  const FetchedFiles fetched = FetchOf({Found(2), File("short", 5), Content("xx", true, true),
                                        File("log", 2), Content("xx", true, true), Finished()});
  EXPECT_TRUE(fetched.status.ok()) << fetched.status;
  EXPECT_EQ(fetched.files, 1);
  EXPECT_THAT(fetched.warnings, ElementsAre(HasSubstr("short: not copied"),
                                            HasSubstr("log: changed while it was read")));
  EXPECT_THAT(All(), ElementsAre("node", "node/log"));
}

TEST_F(FetchFilesTest, AFailureOfThisMachineIsNotBlamedOnTheNode) {
  const test::FileSizeLimit limit(2);
  const FetchedFiles fetched = FetchOf({Found(1), File("ckpt", 4), Content("much", true)});
  EXPECT_EQ(Message(fetched.status), "writing ckpt on this machine: write: File too large");
}

TEST_F(FetchFilesTest, MessagesOfTheAgentAreReported) {
  const FetchedFiles fetched = FetchOf({Finished("no such folder")});
  EXPECT_THAT(Message(fetched.status), HasSubstr("no such folder"));
}

TEST_F(FetchFilesTest, AnAgentThatDisconnectsDuringAFileLeavesNoPart) {
  const FetchedFiles fetched =
      FetchOf({Found(2), File("a", 1), Content("x", true), File("b", 5), Content("xx", false)});
  EXPECT_FALSE(fetched.status.ok());
  EXPECT_THAT(All(), ElementsAre("node", "node/a"));
}

TEST_F(FetchFilesTest, ASilentAgentTimesOut) {
  order_.silence = milliseconds(200);
  service_.Behave([](grpc::ServerContext& context, Writer& writer) {
    writer.Write(Found(1));
    writer.Write(File("a", 5));
    writer.Write(Content("xx", false));
    while (!context.IsCancelled()) std::this_thread::sleep_for(milliseconds(1));
  });
  const FetchedFiles fetched = Fetch();
  EXPECT_THAT(Message(fetched.status), HasSubstr("no data was transferred for 0.2 s"));
  EXPECT_THAT(All(), ElementsAre("node"));
}

// gRPC finishes a write that it has started before it lets a call end.
TEST_F(FetchFilesTest, ABlockedConnectionTimesOut) {
  test::BlockableLine line;
  const auto agent = v1::AgentService::NewStub(*rpc::ChannelOver(line.To(server_.Connect())));
  FetchedFolder folder(temp_.path(), "node");
  const auto fetch = [&] {
    return FetchFiles(
        *agent, order_, folder, [&] { line.HangUp(); }, stop_.get_token());
  };
  service_.Behave([](grpc::ServerContext&, Writer& writer) {
    writer.Write(Found(0));
    writer.Write(Finished());
  });
  const FetchedFiles first = fetch();
  ASSERT_TRUE(first.status.ok()) << first.status;
  line.Stop();
  order_.silence = milliseconds(100);
  EXPECT_EQ(fetch().status.code(), StatusCode::kDeadlineExceeded);
}

TEST_F(FetchFilesTest, CanBeCancelled) {
  service_.Behave([this](grpc::ServerContext& context, Writer& writer) {
    writer.Write(Found(1));
    stop_.request_stop();
    while (!context.IsCancelled()) std::this_thread::sleep_for(milliseconds(1));
  });
  EXPECT_EQ(Fetch().status.code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace autodist::transfer
