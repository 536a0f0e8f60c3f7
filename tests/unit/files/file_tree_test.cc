#include "files/file_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "files/temporary_file.h"
#include "support/temp_folder.h"

namespace autodist::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FileTreeTest : public testing::Test {
 protected:
  void Folder(const std::string& path) {
    std::filesystem::create_directories(folder_.path() + "/" + path);
  }
  FileTree Scan(const std::string& left_out = "") {
    auto tree = ScanFolder(folder_.path(), left_out);
    EXPECT_TRUE(tree.ok()) << tree.status();
    return tree.ok() ? *tree : FileTree();
  }
  std::vector<std::string> Paths(const std::string& left_out = "") {
    std::vector<std::string> paths;
    for (const FileEntry& entry : Scan(left_out).entries) paths.push_back(entry.path);
    return paths;
  }

  const test::TempFolder folder_;
};

TEST_F(FileTreeTest, ListsAllEntries) {
  Folder("sub/empty");
  chmod(folder_.Write("sub/run", "12345").c_str(), 0750);
  const timespec times[] = {{0, UTIME_OMIT}, {1'600'000'000, 123'456'789}};
  utimensat(AT_FDCWD, (folder_.path() + "/sub/run").c_str(), times, 0);
  std::filesystem::create_symlink("../nowhere", folder_.path() + "/link");
  chmod((folder_.path() + "/sub/empty").c_str(), 0555);
  const FileTree tree = Scan();
  ASSERT_EQ(tree.entries.size(), 4u);
  EXPECT_EQ(tree.entries[0].type, FileType::kSymlink);
  EXPECT_EQ(tree.entries[0].link_target, "../nowhere");
  EXPECT_EQ(tree.entries[1].type, FileType::kFolder);
  EXPECT_EQ(tree.entries[2].path, "sub/empty");
  EXPECT_EQ(tree.entries[2].mode, 0755u);
  EXPECT_EQ(tree.entries[3].path, "sub/run");
  EXPECT_EQ(tree.entries[3].mode, 0750u);
  EXPECT_EQ(tree.entries[3].size, 5u);
  EXPECT_EQ(tree.entries[3].modified_ns, 1'600'000'000'123'456'789);
  EXPECT_EQ(tree.files, 1u);
  EXPECT_EQ(tree.bytes, 5u);
}

TEST_F(FileTreeTest, SomeNamesAreNeverCopied) {
  for (const char* path : {".git", "sub/.git", "autodist-runs/x", "sub/autodist-runs",
                           "sub/__pycache__", "logs/job"}) {
    Folder(path);
  }
  folder_.Write("a.git", "");
  folder_.Write(kSyncRecord, "");
  folder_.Write(NewTemporaryName(), "");
  EXPECT_THAT(Paths("logs"), ElementsAre("a.git", "sub"));
}

TEST_F(FileTreeTest, RulesBelongToTheirFolderAndTheDeeperOneWins) {
  Folder("sub/deep");
  folder_.Write(".gitignore", "*.o\n/top\n");
  folder_.Write("sub/.gitignore", "!*.o\n/own\n");
  for (const char* path : {"a.o", "top", "own", "sub/b.o", "sub/top", "sub/own", "sub/deep/c.o"}) {
    folder_.Write(path, "");
  }
  EXPECT_THAT(Paths(), ElementsAre(".gitignore", "own", "sub", "sub/.gitignore", "sub/b.o",
                                   "sub/deep", "sub/deep/c.o", "sub/top"));
}

TEST_F(FileTreeTest, NothingBelowAnExcludedFolderIsIncludedAgain) {
  Folder("out");
  folder_.Write(".autodistignore", "out\n!out/keep\n");
  folder_.Write("out/keep", "");
  EXPECT_THAT(Paths(), ElementsAre(".autodistignore"));
}

TEST_F(FileTreeTest, AutodistignoreOverridesGitignore) {
  folder_.Write(".gitignore", "*.so\n");
  folder_.Write(".autodistignore", "!needed.so\ndata\n");
  for (const char* path : {"other.so", "needed.so", "data"}) folder_.Write(path, "");
  EXPECT_THAT(Paths(), ElementsAre(".autodistignore", ".gitignore", "needed.so"));
}

TEST_F(FileTreeTest, OtherFileTypesAreSkippedWithAWarning) {
  mkfifo((folder_.path() + "/pipe").c_str(), 0600);
  const FileTree tree = Scan();
  EXPECT_THAT(tree.entries, IsEmpty());
  EXPECT_THAT(tree.warnings, ElementsAre(HasSubstr("/pipe is not copied")));
}

TEST_F(FileTreeTest, AllUnreadableFilesAreReported) {
  constexpr uid_t kNobody = 65534;
  if (getuid() == 0 && seteuid(kNobody) != 0) GTEST_SKIP();  // root reads all files
  const test::TempFolder folder;
  chmod(folder.Write("secret", "").c_str(), 0);
  std::filesystem::create_directory(folder.path() + "/closed");
  chmod((folder.path() + "/closed").c_str(), 0);
  const auto tree = ScanFolder(folder.path(), "");
  chmod((folder.path() + "/closed").c_str(), 0700);
  EXPECT_THAT(Message(tree.status()), HasSubstr(folder.path() + "/secret: Permission denied"));
  EXPECT_THAT(Message(tree.status()), HasSubstr(folder.path() + "/closed: Permission denied"));
  EXPECT_THAT(Remedy(tree.status()), HasSubstr(".autodistignore"));
  folder.Write(".autodistignore", "secret\nclosed\n");
  EXPECT_TRUE(ScanFolder(folder.path(), "").ok());
  ASSERT_EQ(seteuid(getuid()), 0);
}

// They are read even if .autodistignore lists them.
TEST_F(FileTreeTest, AnIgnoreFileThatIsNoneIsCorrectedAndNotListed) {
  folder_.Write(".autodistignore", ".gitignore\n");
  for (const std::string& content : {std::string((16 << 20) + 1, 'x'), std::string("a\0b", 3)}) {
    folder_.Write(".gitignore", content);
    const auto tree = ScanFolder(folder_.path(), "");
    EXPECT_THAT(Message(tree.status()), HasSubstr(folder_.path() + "/.gitignore: "));
    EXPECT_EQ(Remedy(tree.status()), "correct or remove that ignore file");
  }
}

TEST_F(FileTreeTest, OwnOutputIsLeftOut) {
  folder_.Write("old.log", "");
  const base::UniqueFd before(dup(STDOUT_FILENO));
  const base::UniqueFd log(
      open((folder_.path() + "/train.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_GE(dup2(log.get(), STDOUT_FILENO), 0);
  const auto tree = ScanFolder(folder_.path(), "logs");
  dup2(before.get(), STDOUT_FILENO);
  ASSERT_TRUE(tree.ok());
  ASSERT_EQ(tree->entries.size(), 1u);
  EXPECT_EQ(tree->entries[0].path, "old.log");
  EXPECT_THAT(tree->left_out, ElementsAre("logs", "train.log"));
}

TEST_F(FileTreeTest, AFileIsRecognizedByMoreThanItsTime) {
  const std::string path = folder_.Write("a", std::string(1000, 'x') + "end");
  const timespec times[] = {{0, UTIME_OMIT}, {1'600'000'000, 0}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
  const FileEntry before = Scan().entries[0];
  EXPECT_FALSE(before.end) << "it cannot be growing";
  folder_.Write("a", std::string(1000, 'x') + "END");
  const FileEntry growing = Scan().entries[0];
  ASSERT_TRUE(growing.end);
  EXPECT_EQ(*growing.end, std::string(253, 'x') + "END");
  FileEntry changed = before;
  for (int i = 0; i < 100'000 && changed.changed_ns == before.changed_ns; ++i) {
    utimensat(AT_FDCWD, path.c_str(), times, 0);  // the clock of files ticks slowly
    changed = Scan().entries[0];
  }
  EXPECT_EQ(changed.modified_ns, before.modified_ns);
  EXPECT_NE(changed.changed_ns, before.changed_ns);
  const std::string other = folder_.Write("b", "");
  utimensat(AT_FDCWD, other.c_str(), times, 0);
  std::filesystem::rename(other, path);
  EXPECT_NE(Scan().entries[0].inode, before.inode);
}

TEST_F(FileTreeTest, IgnoreFilesAreKeptForTheNodes) {
  Folder("sub");
  folder_.Write(".autodistignore", "data\n");
  folder_.Write("sub/.gitignore", "*.o\n");
  const FileTree tree = Scan();
  ASSERT_EQ(tree.ignore_files.size(), 2u);
  EXPECT_EQ(tree.ignore_files[0].folder, "");
  EXPECT_EQ(tree.ignore_files[0].own, "data\n");
  EXPECT_EQ(tree.ignore_files[1].folder, "sub");
  EXPECT_EQ(tree.ignore_files[1].git, "*.o\n");
}

TEST_F(FileTreeTest, AMissingFolderIsAnError) {
  EXPECT_THAT(Message(ScanFolder("/no/such", "").status()), HasSubstr("/no/such: No such file"));
}

}  // namespace
}  // namespace autodist::files
