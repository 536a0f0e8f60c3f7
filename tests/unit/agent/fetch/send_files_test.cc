// AgentService.FetchFiles over a real gRPC connection.
#include "agent/fetch/send_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <map>

#include "autodist/v1/agent.grpc.pb.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class SendFilesTest : public testing::Test {
 protected:
  void Folder(const std::string& name) const { fs::create_directories(temp_.path() + "/" + name); }
  void Fetch(const std::vector<std::string>& patterns, const std::string& probe = "") {
    grpc::ClientContext context;
    v1::FetchFilesRequest request;
    request.set_folder(folder_);
    for (const std::string& pattern : patterns) request.add_patterns(pattern);
    request.set_probe(probe);
    request.set_began_ms(began_ms_);
    request.set_ended_ms(ended_ms_);
    const auto reader = chief_->FetchFiles(&context, request);
    files_.clear();
    v1::FetchFilesResponse response;
    while (reader->Read(&response)) {
      if (response.has_found()) found_ = response.found();
      if (response.has_file()) last_ = response.file();
      if (response.has_content()) {
        EXPECT_LE(response.content().data().size(), rpc::kLargestFetchPiece);
        files_[last_.path()] += response.content().data();
        changed_ = response.content().changed();
      }
      if (response.has_finished()) finished_ = response.finished();
      if (after_) after_(response);
    }
    EXPECT_TRUE(reader->Finish().ok());
  }

  const test::TempFolder temp_;
  std::string folder_ = temp_.path();
  uint64_t began_ms_ = 0;
  uint64_t ended_ms_ = 0;
  test::SmallAgent agent_;
  const std::unique_ptr<v1::AgentService::Stub> chief_ =
      v1::AgentService::NewStub(agent_.server->Channel());
  v1::FilesFound found_;
  v1::FetchedFile last_;
  bool changed_ = false;
  v1::FetchFinished finished_;
  std::map<std::string, std::string> files_;
  std::function<void(const v1::FetchFilesResponse&)> after_;
};

TEST_F(SendFilesTest, ADeepFolderTakesFewDescriptors) {
  constexpr rlim_t kDescriptors = 200;  // of this process, which needs some for the connection
  std::string deep;
  for (rlim_t i = 0; i < kDescriptors; ++i) deep += "d/";
  Folder(deep);
  temp_.Write(deep + "a", "bottom");
  temp_.Write("e", "after it");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{kDescriptors, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Fetch({"d", "e"});
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(files_, ElementsAre(Pair(deep + "a", "bottom"), Pair("e", "after it")));
  EXPECT_THAT(finished_.left_out(), ElementsAre());
}

TEST_F(SendFilesTest, MatchingFilesAndContentsOfMatchingFoldersAreSent) {
  Folder("ckpt-2/deep");
  Folder("data");
  temp_.Write("ckpt-1", std::string(600'000, 'x'));
  temp_.Write("ckpt-2/deep/a", "a");
  temp_.Write("data/ckpt-3", "no");
  temp_.Write("other", "no");
  temp_.Write(files::NewTemporaryName(), "no");
  chmod((temp_.path() + "/ckpt-2/deep/a").c_str(), 0604);
  Fetch({"ckpt*"});
  EXPECT_THAT(files_,
              ElementsAre(Pair("ckpt-1", std::string(600'000, 'x')), Pair("ckpt-2/deep/a", "a")));
  EXPECT_EQ(last_.mode(), 0604);
  EXPECT_EQ(found_.files(), 2);
  EXPECT_EQ(found_.bytes(), 600'001);
  EXPECT_TRUE(finished_.error().empty());
  Fetch({"data/*", "nothing"});  // can be repeated
  EXPECT_THAT(files_, ElementsAre(Pair("data/ckpt-3", "no")));
}

TEST_F(SendFilesTest, SymbolicLinksAreNotFollowed) {
  const test::TempFolder elsewhere;
  elsewhere.Write("secret", "secret");
  Folder("real");
  temp_.Write("real/a", "a");
  fs::create_symlink(elsewhere.path() + "/secret", temp_.path() + "/link");
  fs::create_directory_symlink(elsewhere.path(), temp_.path() + "/folder");
  mkfifo((temp_.path() + "/pipe").c_str(), 0600);
  Fetch({"*", "folder/secret"});
  EXPECT_THAT(files_, ElementsAre(Pair("real/a", "a")));
  EXPECT_THAT(finished_.left_out(), ElementsAre("folder: not fetched: a symbolic link",
                                                "link: not fetched: a symbolic link",
                                                "pipe: not fetched: neither a file nor a folder"));
  // The path of the folder may contain a link.
  fs::create_directory_symlink(temp_.path() + "/real", temp_.path() + "/to");
  folder_ = temp_.path() + "/to";
  Fetch({"a"});
  EXPECT_THAT(files_, ElementsAre(Pair("a", "a")));
}

TEST_F(SendFilesTest, AFolderSharedWithTheChiefIsNotSent) {
  const std::string probe = files::NewTemporaryName();
  temp_.Write(probe, "");
  temp_.Write("a", "a");
  Fetch({"*"}, probe);
  EXPECT_TRUE(found_.same_folder());
  EXPECT_TRUE(files_.empty());
}

TEST_F(SendFilesTest, AFileThatIsBeingWrittenIsReported) {
  temp_.Write("log", std::string(40 << 20, 'x'));
  after_ = [this](const v1::FetchFilesResponse& response) {
    if (response.has_file()) fs::resize_file(temp_.path() + "/log", 1);
  };
  Fetch({"log"});
  EXPECT_LT(files_["log"].size(), last_.size());
  EXPECT_TRUE(changed_);
}

TEST_F(SendFilesTest, OnlyFilesThatTheJobHasChangedAreSent) {
  const auto write = [this](const std::string& name, int64_t ago_s) {
    const std::string path = temp_.Write(name, name);
    const timespec times[] = {{0, UTIME_OMIT}, {time(nullptr) - ago_s, 0}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  };
  write("early", 1000);
  write("during", 500);
  write("late", 100);
  temp_.Write(files::kSyncRecord, "");
  Fetch({"."});
  EXPECT_EQ(files_.size(), 3u) << "any time";
  // All names have changed just now, after the job.
  began_ms_ = 600'000;
  ended_ms_ = 300'000;
  Fetch({"."});
  EXPECT_THAT(files_, ElementsAre(Pair("during", "during")));
  EXPECT_EQ(found_.unchanged(), 2u);
  ended_ms_ = 0;
  Fetch({"."});
  EXPECT_EQ(files_.size(), 3u) << "a running job may have moved a file here";
  EXPECT_GT(agent_.silences_expected, 0);
}

TEST_F(SendFilesTest, LocalErrorsAreReported) {
  folder_ = temp_.path() + "/none";
  Fetch({"*"});
  EXPECT_THAT(finished_.error(), HasSubstr("/none: No such file or directory"));
  folder_ = temp_.path();
  Fetch({"../x"});
  EXPECT_THAT(finished_.error(), HasSubstr("leads out of the folder"));
  for (int i = 0; i < 100; ++i) fs::create_symlink("x", temp_.path() + "/" + std::to_string(i));
  Fetch({"*"});
  ASSERT_EQ(finished_.left_out_size(), rpc::kMaxLeftOut);
  EXPECT_EQ(finished_.left_out(rpc::kMaxLeftOut - 1), "and 69 more");
}

TEST_F(SendFilesTest, AnAbandonedFetchDelaysNoOthers) {
  temp_.Write("large", std::string(100 << 20, 'x'));
  temp_.Write("small", "x");
  grpc::ClientContext context;
  v1::FetchFilesRequest request;
  request.set_folder(folder_);
  request.add_patterns("large");
  const auto reader = chief_->FetchFiles(&context, request);
  v1::FetchFilesResponse response;
  ASSERT_TRUE(reader->Read(&response));
  context.TryCancel();
  EXPECT_FALSE(reader->Finish().ok());
  Fetch({"small"});
  EXPECT_EQ(files_["small"], "x");
}

}  // namespace
}  // namespace autodist::agent
