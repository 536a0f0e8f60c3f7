// AgentService.Sync over a real gRPC connection.
#include "agent/sync/sync.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <future>

#include "agent/link/service.h"
#include "agent/sync/file_port.h"
#include "autodist/v1/agent.grpc.pb.h"
#include "base/random.h"
#include "files/digest.h"
#include "files/temporary_file.h"
#include "support/block_sigchld.h"
#include "support/grpc_server.h"
#include "support/limit.h"
#include "support/temp_folder.h"
#include "support/xxh3_twin.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A service with only Sync, and a configurable limit for a silent chief.
class SyncOnly final : public v1::AgentService::CallbackService {
 public:
  grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse>* Sync(
      grpc::CallbackServerContext* context) override {
    auto* call = new SyncCall(*context, silence);
    thread_ = std::jthread([this, call] {
      const Status status = ReceiveFolder(*call);
      call->End(status);
      ended.set_value(status);
    });
    return call;
  }

  std::chrono::milliseconds silence{60'000};
  std::promise<Status> ended;

 private:
  std::jthread thread_;
};

class SyncTest : public testing::Test {
 protected:
  ~SyncTest() override { context_.TryCancel(); }

  void Begin(const std::string& probe = files::NewTemporaryName()) {
    stream_ = chief_->Sync(&context_);
    v1::SyncRequest request;
    request.mutable_begin()->set_folder(target_);
    request.mutable_begin()->set_probe(probe);
    request.mutable_begin()->set_mode(mode_);
    stream_->Write(request);
  }
  static v1::FileEntry& Add(v1::SyncRequest& request, v1::FileType type, const std::string& path) {
    v1::FileEntry& entry = *request.mutable_list()->add_entries();
    entry.set_type(type);
    entry.set_path(path);
    entry.set_mode(0755);
    return entry;
  }
  static v1::SyncRequest ListOfOneFile(const std::string& path, uint64_t size) {
    v1::SyncRequest request;
    Add(request, v1::FILE_TYPE_REGULAR, path).set_size(size);
    request.mutable_list()->set_last(true);
    return request;
  }
  void SendContent(uint64_t entry, const std::string& data, bool last) {
    v1::SyncRequest request;
    request.mutable_content()->set_entry(entry);
    request.mutable_content()->set_data(data);
    request.mutable_content()->set_last(last);
    stream_->Write(request);
  }
  v1::SyncResponse Read() {
    v1::SyncResponse response;
    do {
      if (!stream_->Read(&response)) return {};
    } while (response.has_bytes_written());
    return response;
  }
  // How the agent's part of the call ended; success if it did not.
  Status End() {
    auto ended = service_.ended.get_future();
    const bool over = ended.wait_for(test::kLimit) == std::future_status::ready;
    return over ? ended.get() : OkStatus();
  }
  // A busy agent sends some differences, perhaps none, before the rest.
  v1::SyncDifferences Differences() {
    v1::SyncDifferences all;
    while (!all.last()) {
      const v1::SyncResponse response = Read();
      if (!response.has_differences()) break;
      all.MergeFrom(response.differences());
    }
    return all;
  }
  std::string Error() {
    const v1::SyncResponse response = Read();
    EXPECT_TRUE(response.has_finished()) << response.ShortDebugString();
    return response.finished().error();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(target_))
      names.push_back(entry.path().filename());
    return names;
  }

  uint32_t mode_ = 0755;  // of the chief's folder
  const test::TempFolder temp_;
  const std::string target_ = temp_.path() + "/target";
  SyncOnly service_;
  test::GrpcServer server_{&service_};
  const std::unique_ptr<v1::AgentService::Stub> chief_ =
      v1::AgentService::NewStub(server_.Channel());
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SyncRequest, v1::SyncResponse>> stream_;
};

TEST_F(SyncTest, ANewFolderHasThePermissionsOfTheChiefs) {
  const mode_t before = umask(022);
  mode_ = 0700;
  Begin();
  EXPECT_FALSE(Read().target_info().same_folder());
  umask(before);
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms(0700));
  EXPECT_EQ(fs::status(temp_.path()).permissions(), fs::perms(0700));
}

TEST_F(SyncTest, ANewFolderMayExceedTheUmask) {
  const mode_t before = umask(077);
  mode_ = 02775;  // only the permissions count
  Begin();
  EXPECT_FALSE(Read().target_info().same_folder());
  umask(before);
  EXPECT_EQ(fs::status(target_).permissions() & fs::perms::mask, fs::perms(0775));
}

TEST_F(SyncTest, AnExistingFolderKeepsItsPermissions) {
  fs::create_directory(target_);
  fs::permissions(target_, fs::perms(0751));
  mode_ = 0700;
  Begin();
  EXPECT_FALSE(Read().target_info().same_folder());
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms(0751));
}

TEST_F(SyncTest, AFolderIsCopiedCompletely) {
  Begin();
  EXPECT_FALSE(Read().target_info().same_folder());
  v1::SyncRequest request;
  Add(request, v1::FILE_TYPE_FOLDER, "sub");
  Add(request, v1::FILE_TYPE_REGULAR, "sub/a").set_size(6);
  stream_->Write(request);
  request.Clear();
  Add(request, v1::FILE_TYPE_REGULAR, "empty");
  Add(request, v1::FILE_TYPE_SYMLINK, "link").set_link_target("sub/a");
  request.mutable_list()->set_last(true);
  stream_->Write(request);
  const v1::SyncDifferences differences = Differences();
  EXPECT_THAT(differences.wanted(), testing::ElementsAre(1, 2));
  EXPECT_TRUE(differences.last());
  SendContent(1, "abc", false);
  stream_->Write({});  // keep-alive of a busy chief
  SendContent(1, "def", true);
  SendContent(2, "", true);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_EQ(temp_.Read("target/link"), "abcdef");
  EXPECT_TRUE(fs::is_empty(target_ + "/empty"));
}

TEST_F(SyncTest, TheChiefsOwnFolderIsDetectedByTheProbe) {
  fs::create_directory(target_);
  const std::string probe = files::NewTemporaryName();
  temp_.Write("target/" + probe, "");
  Begin(probe);
  EXPECT_TRUE(Read().target_info().same_folder());
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(Names(), std::vector<std::string>{probe});  // not even taken for a leftover
}

TEST_F(SyncTest, AFileNameIsNotAcceptedAsAProbe) {
  fs::create_directory(target_);
  temp_.Write("file", "");
  Begin("../file");
  EXPECT_FALSE(Read().target_info().same_folder());
}

TEST_F(SyncTest, ADigestCandidateHasItsDigest) {
  fs::create_directory(target_);
  const std::string path = temp_.Write("target/a", "same");
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 4));
  const v1::SyncDifferences differences = Differences();
  ASSERT_EQ(differences.digest_candidates_size(), 1);
  EXPECT_EQ(differences.digest_candidates(0).digest(), *files::DigestOfFile(path));
  v1::SyncRequest request;
  request.mutable_same()->add_entries(0);
  stream_->Write(request);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(fs::last_write_time(path).time_since_epoch(),
            std::chrono::file_clock::from_sys(std::chrono::sys_seconds(std::chrono::seconds(0)))
                .time_since_epoch());
}

TEST_F(SyncTest, ASecondCopyComparesNoContent) {
  for (const bool again : {false, true}) {
    SyncOnly service;
    test::GrpcServer server{&service};
    const auto chief = v1::AgentService::NewStub(server.Channel());
    grpc::ClientContext context;
    stream_ = chief->Sync(&context);
    v1::SyncRequest request;
    request.mutable_begin()->set_folder(target_);
    request.mutable_begin()->set_mode(0755);
    stream_->Write(request);
    Read();
    stream_->Write(ListOfOneFile("a", 3));
    const v1::SyncDifferences differences = Differences();
    EXPECT_EQ(differences.wanted_size(), again ? 0 : 1);
    EXPECT_EQ(differences.digest_candidates_size(), 0);
    if (!again) SendContent(0, "abc", true);
    request.mutable_complete();
    stream_->Write(request);
    EXPECT_EQ(Error(), "");
    EXPECT_TRUE(stream_->Finish().ok());
    stream_.reset();
  }
}

TEST_F(SyncTest, AHoleIsNotWritten) {
  constexpr uint64_t kHole = 1'000'000'000;
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 2 * kHole + 1));
  Read();
  v1::SyncRequest request;
  request.mutable_content()->set_hole(kHole);
  request.mutable_content()->set_data("x");
  stream_->Write(request);
  request.mutable_content()->set_data("");
  request.mutable_content()->set_last(true);
  stream_->Write(request);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  struct stat info;
  ASSERT_EQ(stat((target_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(static_cast<uint64_t>(info.st_size), 2 * kHole + 1);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST_F(SyncTest, AHoleBeyondTheAnnouncedSizeIsRefused) {
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 10));
  Read();
  v1::SyncRequest request;
  request.mutable_content()->set_hole(UINT64_MAX);
  stream_->Write(request);
  EXPECT_THAT(Error(), HasSubstr("another size"));
}

class ExtraSyncTest : public SyncTest {
 protected:
  // Sends the list of a folder that has only "a".
  void BeginList(bool mirror, bool preview) {
    fs::create_directories(target_ + "/data");
    for (const char* path : {"target/a", "target/old.py", "target/out.txt", "target/data/x.py"}) {
      temp_.Write(path, "x");
    }
    stream_ = chief_->Sync(&context_);
    v1::SyncRequest request;
    request.mutable_begin()->set_folder(target_);
    request.mutable_begin()->set_mirror(mirror);
    request.mutable_begin()->set_preview(preview);
    stream_->Write(request);
    Read();
    request.mutable_ignore()->set_own("/data/\n");
    stream_->Write(request);
    stream_->Write(ListOfOneFile("a", 1));
  }
  v1::SyncExtra Extra() {
    v1::SyncResponse response = Read();
    while (response.has_differences()) response = Read();
    return response.extra();
  }
};

TEST_F(ExtraSyncTest, FilesThatAStartMayReadAreReported) {
  BeginList(false, false);
  EXPECT_THAT(Extra().paths(), testing::ElementsAre("old.py"));
  EXPECT_TRUE(fs::exists(target_ + "/old.py"));
}

TEST_F(ExtraSyncTest, AMirrorDeletesThem) {
  BeginList(true, false);
  EXPECT_THAT(Extra().paths(), testing::ElementsAre("old.py", "out.txt"));
  EXPECT_FALSE(fs::exists(target_ + "/old.py") || fs::exists(target_ + "/out.txt"));
  EXPECT_TRUE(fs::exists(target_ + "/data/x.py"));
}

TEST_F(ExtraSyncTest, APreviewChangesNothing) {
  BeginList(true, true);
  EXPECT_THAT(Extra().paths(), testing::ElementsAre("old.py", "out.txt"));
  EXPECT_EQ(Error(), "");
  EXPECT_TRUE(fs::exists(target_ + "/old.py"));
}

TEST_F(SyncTest, APreviewMakesNoFolder) {
  stream_ = chief_->Sync(&context_);
  v1::SyncRequest request;
  request.mutable_begin()->set_folder(target_);
  request.mutable_begin()->set_preview(true);
  stream_->Write(request);
  EXPECT_TRUE(Read().has_target_info());
  stream_->Write(ListOfOneFile("a", 1));
  EXPECT_EQ(Error(), "");
  EXPECT_FALSE(fs::exists(target_));
}

TEST_F(SyncTest, FoldersWithMuchElseAreNotMirrored) {
  const char* const home = std::getenv("HOME");
  ASSERT_NE(home, nullptr);
  for (const std::string& folder :
       {std::string("/"), std::string(home), home + std::string("/.."), std::string("/tmp")}) {
    SyncOnly service;
    test::GrpcServer server{&service};
    const auto chief = v1::AgentService::NewStub(server.Channel());
    grpc::ClientContext context;
    stream_ = chief->Sync(&context);
    v1::SyncRequest request;
    request.mutable_begin()->set_folder(folder);
    request.mutable_begin()->set_mirror(true);
    request.mutable_begin()->set_preview(true);  // if it fails, nothing is deleted
    stream_->Write(request);
    EXPECT_THAT(Error(), HasSubstr("--sync-delete would delete what is in " + folder));
    EXPECT_TRUE(stream_->Finish().ok());
    stream_.reset();
  }
}

TEST_F(SyncTest, AllObstaclesAreReportedAtOnce) {
  fs::create_directories(target_ + "/a");
  temp_.Write("target/b", "");
  Begin();
  Read();
  v1::SyncRequest request;
  Add(request, v1::FILE_TYPE_REGULAR, "a");
  Add(request, v1::FILE_TYPE_FOLDER, "b");
  Add(request, v1::FILE_TYPE_REGULAR, "b/c");  // follows from b, so not a separate issue
  request.mutable_list()->set_last(true);
  stream_->Write(request);
  EXPECT_EQ(Error(), target_ + "/a: a folder there, but a file on the chief\n" + target_ +
                         "/b: a file there, but a folder on the chief");
}

TEST_F(SyncTest, LongReportsAreTruncatedBetweenCharacters) {
  std::string letters;
  for (int i = 0; i < 110; ++i) letters += "é";
  v1::SyncRequest list;
  for (int file = 0; file < 10; ++file) {
    std::string path = "x" + std::to_string(file);
    for (int depth = 0; depth < 4; ++depth) {
      path += "/" + letters;
      Add(list, v1::FILE_TYPE_FOLDER, path.substr(0, path.rfind('/')));
    }
    fs::create_directories(target_ + "/" + path + "/in the way");
    Add(list, v1::FILE_TYPE_REGULAR, path);
  }
  list.mutable_list()->set_last(true);
  Begin();
  EXPECT_TRUE(Read().has_target_info());
  stream_->Write(list);
  const std::string error = Error();
  EXPECT_THAT(error, testing::AllOf(HasSubstr(letters), testing::EndsWith(" (cut here)")));
}

TEST_F(SyncTest, WrongMessagesAreRefused) {
  Begin();
  Read();
  stream_->Write(ListOfOneFile("../evil", 0));
  EXPECT_THAT(Error(), HasSubstr("is not a path in a folder"));
  EXPECT_FALSE(fs::exists(temp_.path() + "/evil"));
}

TEST_F(SyncTest, ContentWithoutAFileIsRefused) {
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 1));
  Read();
  SendContent(7, "x", true);
  EXPECT_THAT(Error(), HasSubstr("not the number of a file"));
}

TEST_F(SyncTest, ContentOfAnotherSizeNeverReplacesTheFile) {
  fs::create_directory(target_);
  temp_.Write("target/a", "old");
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 9));
  Read();
  SendContent(0, "too short", false);
  SendContent(0, "!", true);
  EXPECT_THAT(Error(), HasSubstr("another size"));
  EXPECT_EQ(temp_.Read("target/a"), "old");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(SyncTest, PassesFilesOnUntilAllNodesHaveThem) {
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 3));
  Read();
  SendContent(0, "abc", true);
  v1::SyncRequest request;
  request.mutable_relay()->set_key(secure::Key::Random().ToHex());
  request.mutable_relay()->mutable_node()->set_data_address("127.0.0.1");
  stream_->Write(request);
  const v1::SyncResponse response = Read();
  EXPECT_EQ(response.passing_on().address(), "127.0.0.1");
  v1::SyncSource there;
  there.set_address("127.0.0.1");
  there.set_port(response.passing_on().port());
  there.set_key(request.relay().key());
  const auto go_on = [] { return true; };
  auto source = FileSource::Connect(there, go_on);
  ASSERT_TRUE(source.ok());
  std::string content;
  const auto take = [&](std::string_view piece) {
    content += piece;
    return true;
  };
  EXPECT_TRUE(source->Get(0, 3, take, go_on).ok());
  EXPECT_EQ(content, "abc");
  EXPECT_EQ(source->Get(1, 3, take, go_on).code(), StatusCode::kNotFound);
  // Only files that the chief has listed leave the node, and never through a link.
  temp_.Write("secret", "abc");
  fs::remove(target_ + "/a");
  fs::create_symlink("../secret", target_ + "/a");
  EXPECT_EQ(source->Get(0, 3, take, go_on).code(), StatusCode::kNotFound);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  EXPECT_FALSE(FileSource::Connect(there, go_on).ok());
}

TEST_F(SyncTest, FetchesFilesFromAnotherNodeAndReportsTheRest) {
  temp_.Write("0", "right");
  temp_.Write("1", "wrong");
  v1::SyncRequest request;
  v1::SyncSource& source = *request.mutable_passed()->mutable_source();
  source.set_address("127.0.0.1");
  const auto key = secure::Key::Random();
  source.set_key(key.ToHex());
  const auto port = *FilePort::Open("127.0.0.1", key, [this](uint64_t number) {
    const std::string path = temp_.path() + "/" + std::to_string(number);
    return FilePort::File{base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), 5};
  });
  source.set_port(port->port());
  Begin();
  Read();
  v1::SyncRequest list;
  for (const char* name : {"a", "b", "c", "d"}) {
    Add(list, v1::FILE_TYPE_REGULAR, name).set_size(5);
  }
  list.mutable_list()->set_last(true);
  stream_->Write(list);
  Differences();
  const std::string right = *files::DigestOfFile(temp_.path() + "/0");
  // There is no 3; 1 has another content, after which no data is trusted.
  for (const uint64_t entry : {0u, 3u, 1u, 2u}) {
    v1::PassedFile& file = *request.mutable_passed()->add_files();
    file.set_entry(entry);
    file.set_digest(right);
  }
  temp_.Write("2", "right");
  stream_->Write(request);
  EXPECT_THAT(Read().unavailable().entries(), testing::ElementsAre(3, 1, 2));
  EXPECT_EQ(temp_.Read("target/a"), "right");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  for (const uint64_t entry : {1u, 2u, 3u}) SendContent(entry, "chief", true);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  EXPECT_EQ(temp_.Read("target/b"), "chief");
}

// An attack by a malicious first node.
TEST_F(SyncTest, ATwinWithTheSameSizeAndXxh3DigestIsRefusedAndTheFileComesFromTheChief) {
  std::string content;
  while (content.size() < 100'000) content += "weights ";
  const std::string twin = test::TwinOf(content, std::string(896, 'E'));
  ASSERT_NE(twin, content);
  temp_.Write("twin", twin);
  v1::SyncRequest request;
  v1::SyncSource& source = *request.mutable_passed()->mutable_source();
  source.set_address("127.0.0.1");
  const auto key = secure::Key::Random();
  source.set_key(key.ToHex());
  const auto port = *FilePort::Open("127.0.0.1", key, [&](uint64_t) {
    const std::string path = temp_.path() + "/twin";
    return FilePort::File{base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), twin.size()};
  });
  source.set_port(port->port());
  Begin();
  Read();
  stream_->Write(ListOfOneFile("model", content.size()));
  Differences();
  request.mutable_passed()->add_files()->set_digest(
      *files::DigestOfFile(temp_.Write("model", content)));
  stream_->Write(request);
  EXPECT_THAT(Read().unavailable().entries(), testing::ElementsAre(0));
  EXPECT_EQ(Names(), std::vector<std::string>{});
  SendContent(0, content, true);
  request.mutable_complete();
  stream_->Write(request);
  EXPECT_EQ(Error(), "");
  EXPECT_TRUE(temp_.Read("target/model") == content);
}

TEST_F(SyncTest, AnAbortedCallLeavesNoFiles) {
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 100));
  Read();
  SendContent(0, "a part", false);
  context_.TryCancel();
  EXPECT_EQ(End().code(), StatusCode::kCancelled);
  EXPECT_TRUE(fs::is_empty(target_));
}

TEST_F(SyncTest, ASilentChiefTimesOut) {
  service_.silence = std::chrono::milliseconds(100);
  Begin();
  Read();
  stream_->Write(ListOfOneFile("a", 100));
  Read();
  SendContent(0, "a part", false);
  EXPECT_FALSE(End().ok());
  EXPECT_TRUE(fs::is_empty(target_));
  EXPECT_FALSE(stream_->Finish().ok());
}

}  // namespace
}  // namespace autodist::agent
