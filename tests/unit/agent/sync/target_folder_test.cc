#include "agent/sync/target_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "files/file_tree.h"
#include "support/nobody.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using Match = TargetFolder::Match;
using testing::HasSubstr;

constexpr int64_t kTime = 1'600'000'000'123'456'789;

v1::FileEntry File(const std::string& path, uint64_t size, uint32_t mode = 0640) {
  v1::FileEntry entry;
  entry.set_type(v1::FILE_TYPE_REGULAR);
  entry.set_path(path);
  entry.set_size(size);
  entry.set_mode(mode);
  entry.set_modified_ns(kTime);
  return entry;
}

v1::FileEntry Folder(const std::string& path, uint32_t mode = 0755) {
  v1::FileEntry entry;
  entry.set_type(v1::FILE_TYPE_FOLDER);
  entry.set_path(path);
  entry.set_mode(mode);
  return entry;
}

v1::FileEntry Symlink(const std::string& path, const std::string& target) {
  v1::FileEntry entry;
  entry.set_type(v1::FILE_TYPE_SYMLINK);
  entry.set_path(path);
  entry.set_link_target(target);
  return entry;
}

class TargetFolderTest : public testing::Test {
 protected:
  std::string At(const std::string& path) const { return temp_.path() + "/" + path; }
  std::string Inside(const std::string& path) const { return At("target/" + path); }

  Status Put(const v1::FileEntry& entry, const std::string& content) {
    auto file = target_.Create(entry);
    AD_RETURN_IF_ERROR(file.status());
    AD_RETURN_IF_ERROR(file->Write(content));
    return file->Finish();
  }
  // As the next --sync does it.
  Match SettleLater(const v1::FileEntry& entry) const {
    return *TargetFolder::Open(At("target"), 0700)->Settle(entry);
  }
  struct stat Stat(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(lstat(Inside(path).c_str(), &info), 0) << path;
    return info;
  }

  const test::TempFolder temp_;
  TargetFolder target_ = *TargetFolder::Open(temp_.path() + "/target", 0700);
};

TEST_F(TargetFolderTest, IsCreatedWithItsParents) {
  ASSERT_TRUE(TargetFolder::Open(At("a/b/c"), 0700).ok());
  EXPECT_TRUE(fs::is_directory(At("a/b/c")));
}

TEST_F(TargetFolderTest, MayBeReachedThroughASymbolicLink) {
  fs::create_directory(At("real"));
  fs::create_symlink("real", At("link"));
  auto target = TargetFolder::Open(At("link"), 0700);
  ASSERT_TRUE(target.ok());
  ASSERT_TRUE(target->Settle(Folder("sub")).ok());
  EXPECT_TRUE(fs::is_directory(At("real/sub")));
}

TEST_F(TargetFolderTest, AWorldWritableFolderIsReported) {
  for (const mode_t mode : {0777U, 0702U, 01777U, 03777U, 02775U, 0770U, 0755U}) {
    ASSERT_EQ(chmod(At("target").c_str(), mode), 0);
    const auto target = TargetFolder::Open(At("target"), 0700);
    ASSERT_TRUE(target.ok());
    EXPECT_EQ(target->everyone_writes(), (mode & S_IWOTH) != 0) << mode;
  }
}

TEST_F(TargetFolderTest, IsNotCreatedWorldWritable) {
  ASSERT_TRUE(TargetFolder::Open(At("new"), 0777).ok());
  EXPECT_EQ(fs::status(At("new")).permissions(), fs::perms(0775));
  EXPECT_TRUE(TargetFolder::Open(At("new"), 0777).ok());
}

TEST_F(TargetFolderTest, AStrangersFolderIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  ASSERT_EQ(chmod(temp_.path().c_str(), 01777), 0);
  ASSERT_EQ(chown(At("target").c_str(), test::kNobody, test::kNobody), 0);
  EXPECT_EQ(TargetFolder::Open(At("target"), 0700).status().code(), StatusCode::kPermissionDenied);
  EXPECT_FALSE(TargetFolder::Open(At("target/sub"), 0700).ok());
  EXPECT_FALSE(fs::exists(At("target/sub")));
}

TEST_F(TargetFolderTest, AFileInPlaceOfTheFolderIsAnError) {
  temp_.Write("file", "");
  const Status no_folder = TargetFolder::Open(At("file"), 0700).status();
  EXPECT_THAT(Message(no_folder), HasSubstr("Not a directory"));
  EXPECT_THAT(WriteRemedy(no_folder), HasSubstr("remove the file"));
  EXPECT_FALSE(TargetFolder::Open(At("file/below"), 0700).ok());
  EXPECT_FALSE(TargetFolder::Open("relative", 0700).ok());
}

TEST(WriteRemedyTest, FitsTheErrnoValue) {
  const std::pair<int, const char*> rows[] = {
      {ENOTDIR, "remove the file"}, {EROFS, "mount that file system writable"},
      {ENOSPC, "make room there"},  {EDQUOT, "in your quota"},
      {EACCES, "permissions"},      {EPERM, "permissions"}};
  for (const auto& [error, remedy] : rows) {
    EXPECT_THAT(WriteRemedy(Annotate(ErrnoError(error, "write"), "/w/a")), HasSubstr(remedy));
  }
  EXPECT_EQ(WriteRemedy(ErrnoError(EIO, "write")), "");
  EXPECT_EQ(WriteRemedy(Error(StatusCode::kDeadlineExceeded, "the chief is silent")), "");
  EXPECT_EQ(WriteRemedy(WithRemedy(ErrnoError(EPERM, "/w"), "do it")), "do it");
}

TEST_F(TargetFolderTest, AFileHasContentPermissionsAndTime) {
  const v1::FileEntry entry = File("a", 5, 0751);
  EXPECT_EQ(*target_.Settle(entry), Match::kDifferent);
  ASSERT_TRUE(Put(entry, "hello").ok());
  EXPECT_EQ(temp_.Read("target/a"), "hello");
  EXPECT_EQ(Stat("a").st_mode & 07777, 0751u);
  EXPECT_EQ(files::ModifiedNs(Stat("a")), kTime);
  target_.Remember({entry});
  EXPECT_EQ(SettleLater(entry), Match::kSame);
}

TEST_F(TargetFolderTest, OnlyARecordedFileCountsAsACopy) {
  v1::FileEntry entry = File("a", 5);
  entry.set_changed_ns(1);
  entry.set_inode(2);
  ASSERT_TRUE(Put(entry, "hello").ok());
  const auto settle = [&] { return SettleLater(entry); };
  EXPECT_EQ(settle(), Match::kSuspect) << "another program may have written it";
  target_.Remember({entry});
  EXPECT_EQ(settle(), Match::kSame);
  entry.set_changed_ns(3);
  EXPECT_EQ(settle(), Match::kSuspect) << "changed on the chief, with its old time";
  entry.set_changed_ns(1);
  entry.set_inode(4);
  EXPECT_EQ(settle(), Match::kSuspect) << "replaced on the chief, with its old time";
  entry.set_inode(2);
  // The clock of files ticks slowly.
  while (files::TimeOfFilesNow(target_.fd()) <= files::ChangedNs(Stat("a"))) {
  }
  std::ofstream(Inside("a")) << "HELLO";
  target_.TakeOverTime(entry);
  EXPECT_EQ(settle(), Match::kSuspect) << "changed on the node, with its old time";
  temp_.Write("target/" + std::string(files::kSyncRecord), std::string(100, 'x') + "\nno record");
  EXPECT_EQ(settle(), Match::kSuspect);
}

TEST_F(TargetFolderTest, AFileThatChangedMeanwhileIsNotRecorded) {
  const v1::FileEntry entry = File("a", 5);
  ASSERT_TRUE(Put(entry, "hello").ok());
  std::ofstream(Inside("a")) << "HELLO";
  target_.Remember({entry});
  target_.TakeOverTime(entry);
  EXPECT_EQ(SettleLater(entry), Match::kSuspect);
}

TEST_F(TargetFolderTest, BytecodeOfAReplacedSourceIsRemoved) {
  fs::create_directories(Inside("sub/__pycache__"));
  for (const char* name : {"a.cpython-311.pyc", "a.cpython-311.opt-1.pyc", "ab.cpython-311.pyc"}) {
    temp_.Write("target/sub/__pycache__/" + std::string(name), "compiled");
  }
  target_.RemoveBytecode(File("sub/a.txt", 0));
  target_.RemoveBytecode(File("sub/a.py", 0));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(Inside("sub/__pycache__"))) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, testing::ElementsAre("ab.cpython-311.pyc"));
  fs::remove_all(Inside("sub/__pycache__"));
  fs::create_directory(At("outside"));
  const std::string outside = temp_.Write("outside/a.cpython-311.pyc", "compiled");
  fs::create_symlink("../../outside", Inside("sub/__pycache__"));
  target_.RemoveBytecode(File("sub/a.py", 0));
  EXPECT_TRUE(fs::exists(outside));
}

TEST_F(TargetFolderTest, TimesBefore1970AreTimes) {
  v1::FileEntry entry = File("a", 0);
  entry.set_modified_ns(-1);
  ASSERT_TRUE(Put(entry, "").ok());
  EXPECT_EQ(files::ModifiedNs(Stat("a")), -1);
}

TEST_F(TargetFolderTest, AFileOfTheSameSizeWithAnotherTimeIsADigestCandidate) {
  temp_.Write("target/a", "hello");
  const v1::FileEntry entry = File("a", 5);
  EXPECT_EQ(*target_.Settle(entry), Match::kSuspect);
  EXPECT_EQ(target_.Digest(entry, [] { return true; })->size(), 64u);
  target_.TakeOverTime(entry);
  target_.Remember({entry});
  EXPECT_EQ(SettleLater(entry), Match::kSame);
  EXPECT_EQ(Stat("a").st_mode & 07777, 0640u);
}

TEST_F(TargetFolderTest, ChangedPermissionsNeedNoContent) {
  ASSERT_TRUE(Put(File("a", 1, 0644), "x").ok());
  target_.Remember({File("a", 1)});
  EXPECT_EQ(SettleLater(File("a", 1, 0755)), Match::kSame);
  EXPECT_EQ(Stat("a").st_mode & 07777, 0755u);
}

TEST_F(TargetFolderTest, PrivilegesAreNotCopied) {
  ASSERT_TRUE(Put(File("a", 0, 06755), "").ok());
  EXPECT_EQ(Stat("a").st_mode & 07777, 0755u);
  ASSERT_TRUE(target_.Settle(Folder("sub", 07777)).ok());
  EXPECT_EQ(Stat("sub").st_mode & 07777, 0777u);
}

TEST_F(TargetFolderTest, AFolderIsAlwaysWritable) {
  ASSERT_TRUE(target_.Settle(Folder("sub", 0)).ok());
  EXPECT_EQ(Stat("sub").st_mode & 07777, 0700u);
}

TEST_F(TargetFolderTest, TheOldContentStaysUntilTheNewOneIsComplete) {
  temp_.Write("target/a", "old");
  {
    auto file = target_.Create(File("a", 6));
    ASSERT_TRUE(file->Write("new").ok());
    EXPECT_EQ(temp_.Read("target/a"), "old");
    EXPECT_FALSE(file->Finish().ok());  // shorter than announced
  }
  EXPECT_EQ(temp_.Read("target/a"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(At("target")), fs::directory_iterator()), 1);
}

TEST_F(TargetFolderTest, LeftoversOfAKilledSyncAreRemoved) {
  fs::create_directory(Inside("sub"));
  const std::string in_root = temp_.Write("target/" + files::NewTemporaryName(), "torn");
  const std::string in_sub = temp_.Write("target/sub/" + files::NewTemporaryName(), "torn");
  temp_.Write("target/sub/own", "");
  auto target = TargetFolder::Open(At("target"), 0700);
  ASSERT_TRUE(target->Settle(Folder("sub")).ok());
  EXPECT_FALSE(fs::exists(in_root));
  EXPECT_FALSE(fs::exists(in_sub));
  EXPECT_TRUE(fs::exists(Inside("sub/own")));
}

TEST_F(TargetFolderTest, SymbolicLinksAreCreatedAndChanged) {
  EXPECT_EQ(*target_.Settle(Symlink("l", "/nowhere")), Match::kSame);
  EXPECT_EQ(fs::read_symlink(Inside("l")), "/nowhere");
  EXPECT_EQ(*target_.Settle(Symlink("l", "elsewhere")), Match::kSame);
  EXPECT_EQ(fs::read_symlink(Inside("l")), "elsewhere");
  temp_.Write("target/f", "");
  EXPECT_TRUE(target_.Settle(Symlink("f", "x")).ok());
  EXPECT_EQ(fs::read_symlink(Inside("f")), "x");
  EXPECT_FALSE(target_.Settle(Symlink("e", "")).ok());
}

TEST_F(TargetFolderTest, AFileReplacesALinkAndLeavesItsTarget) {
  temp_.Write("outside", "precious");
  fs::create_symlink("../outside", Inside("a"));
  EXPECT_EQ(*target_.Settle(File("a", 8)), Match::kDifferent);
  ASSERT_TRUE(Put(File("a", 3), "new").ok());
  EXPECT_EQ(temp_.Read("outside"), "precious");
  EXPECT_FALSE(fs::is_symlink(Inside("a")));
}

TEST_F(TargetFolderTest, NoPathLeadsOutside) {
  for (const std::string path : {"", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", ".",
                                 "./a", "a/.", "a//b", "a/", "//", "sub/../x"}) {
    EXPECT_FALSE(target_.Settle(Folder(path)).ok()) << path;
    EXPECT_FALSE(target_.Settle(File(path, 0)).ok()) << path;
    EXPECT_FALSE(target_.Settle(Symlink(path, "x")).ok()) << path;
    EXPECT_FALSE(Put(File(path, 0), "").ok()) << path;
    EXPECT_FALSE(target_.Digest(File(path, 0), [] { return true; }).ok()) << path;
  }
  EXPECT_FALSE(target_.Settle(Folder(std::string("a\0b", 3))).ok());
  EXPECT_FALSE(target_.Settle(Folder(std::string(5000, 'a'))).ok());
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(temp_.path()),
                          fs::recursive_directory_iterator()),
            1);  // the target itself
}

TEST_F(TargetFolderTest, NoPathLeadsThroughASymbolicLink) {
  fs::create_directory(At("outside"));
  temp_.Write("outside/f", "x");
  ASSERT_TRUE(target_.Settle(Symlink("sub", "../outside")).ok());
  ASSERT_TRUE(target_.Settle(Symlink("f", "../outside/f")).ok());
  EXPECT_FALSE(target_.Settle(Folder("sub")).ok());
  EXPECT_FALSE(target_.Settle(Folder("sub/new")).ok());
  EXPECT_FALSE(target_.Settle(Symlink("sub/l", "x")).ok());
  EXPECT_FALSE(Put(File("sub/g", 1), "y").ok());
  EXPECT_FALSE(target_.Digest(File("sub/f", 1), [] { return true; }).ok());
  EXPECT_FALSE(target_.Digest(File("f", 1), [] { return true; }).ok());
  target_.TakeOverTime(File("f", 1));
  target_.TakeOverTime(File("sub/f", 1));
  EXPECT_EQ(temp_.Read("outside/f"), "x");
  EXPECT_EQ(std::distance(fs::directory_iterator(At("outside")), fs::directory_iterator()), 1);
  struct stat info;
  ASSERT_EQ(stat(At("outside/f").c_str(), &info), 0);
  EXPECT_NE(files::ModifiedNs(info), kTime);
}

TEST_F(TargetFolderTest, AFolderReplacedByALinkLaterIsNotFollowed) {
  fs::create_directory(At("outside"));
  ASSERT_TRUE(target_.Settle(Folder("a")).ok());
  ASSERT_TRUE(target_.Settle(Folder("a/sub")).ok());
  fs::remove(Inside("a/sub"));
  fs::create_symlink("../../outside", Inside("a/sub"));
  EXPECT_FALSE(Put(File("a/sub/x", 0), "").ok());
  EXPECT_TRUE(fs::is_empty(At("outside")));
}

TEST_F(TargetFolderTest, ObstaclesAreReportedAndStay) {
  temp_.Write("target/file", "x");
  fs::create_directory(Inside("folder"));
  ASSERT_EQ(mkfifo(Inside("fifo").c_str(), 0600), 0);
  const Status file = target_.Settle(Folder("file")).status();
  EXPECT_THAT(Message(file), HasSubstr("a file there, but a folder on the chief"));
  EXPECT_THAT(Remedy(file), HasSubstr("remove it there"));
  EXPECT_THAT(Message(target_.Settle(File("folder", 0)).status()),
              HasSubstr("a folder there, but a file on the chief"));
  EXPECT_THAT(Message(target_.Settle(Symlink("folder", "x")).status()),
              HasSubstr("a folder there, but a symbolic link on the chief"));
  EXPECT_FALSE(target_.Settle(File("fifo", 0)).ok());
  EXPECT_TRUE(fs::is_directory(Inside("folder")));
  EXPECT_EQ(temp_.Read("target/file"), "x");
}

TEST_F(TargetFolderTest, AnUnknownTypeIsRefused) {
  v1::FileEntry entry = File("a", 0);
  entry.set_type(v1::FILE_TYPE_UNSPECIFIED);
  EXPECT_FALSE(target_.Settle(entry).ok());
}

}  // namespace
}  // namespace autodist::agent
