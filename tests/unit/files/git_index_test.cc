#include "files/git_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "files/file_tree.h"
#include "support/nobody.h"
#include "support/temp_folder.h"

namespace autodist::files {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Repositories made by git.
class GitIndexTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  }
  void Git(const std::string& words) {
    const std::string line = "cd '" + folder_.path() +
                             "' && git -c init.defaultBranch=m -c user.name=a -c user.email=a@b "
                             "-c protocol.file.allow=always " +
                             words + " > git.log 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0) << words << folder_.Read("git.log");
    std::filesystem::remove(folder_.path() + "/git.log");
  }
  void Write(const std::string& path, const std::string& text = "x") {
    std::filesystem::create_directories(
        std::filesystem::path(folder_.path() + "/" + path).parent_path());
    folder_.Write(path, text);
  }
  std::vector<std::string> Paths(const std::string& below = "") {
    const auto tree = ScanFolder(folder_.path() + below, "");
    EXPECT_TRUE(tree.ok()) << tree.status();
    std::vector<std::string> paths;
    if (!tree.ok()) return paths;
    warnings_ = tree->warnings;
    ignored_ = tree->ignored;
    for (const FileEntry& entry : tree->entries) paths.push_back(entry.path);
    return paths;
  }
  std::string Index() { return *base::ReadFile(folder_.path() + "/.git/index", 1 << 20); }

  const test::TempFolder folder_;
  std::vector<std::string> warnings_;
  Ignored ignored_;
};

TEST_F(GitIndexTest, EveryVersionOfTheIndex) {
  for (const std::string format : {"", "--object-format=sha256"}) {
    for (const std::string version : {"2", "4"}) {
      std::filesystem::remove_all(folder_.path() + "/.git");
      Git("init -q " + format + " .");
      for (const char* path : {"a", "sub/b", "sub/b2", "sub-x", "long/long/long/name"}) Write(path);
      Git("add -f -- a sub sub-x long");
      Git("update-index --index-version " + version);
      const auto paths = ReadGitIndex(Index());
      ASSERT_TRUE(paths.ok()) << paths.status();
      EXPECT_THAT(*paths, ElementsAre("a", "long/long/long/name", "sub-x", "sub/b", "sub/b2"));
    }
  }
  // A file with intent to add needs flags of version 3.
  Write("new");
  Git("update-index --index-version 2");
  Git("add -N -f new");
  EXPECT_EQ(Index()[7], 3);
  const auto paths = ReadGitIndex(Index());
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, Contains("new"));
}

TEST_F(GitIndexTest, ADamagedIndexIsRefused) {
  Git("init -q .");
  Write("a");
  Git("add -f a");
  const std::string index = Index();
  for (size_t size = 0; size < index.size(); ++size) {
    EXPECT_FALSE(ReadGitIndex(index.substr(0, size)).ok()) << size;
  }
  for (size_t at = 0; at < index.size(); ++at) {
    std::string changed = index;
    changed[at] = static_cast<char>(changed[at] ^ 0x85);
    (void)ReadGitIndex(changed).ok();  // must not crash
  }
}

TEST_F(GitIndexTest, TrackedFilesAreNotIgnored) {
  Git("init -q .");
  Write(".gitignore", "local*\nmodels/\n*.bin\n");
  for (const char* path : {"conf/local_lab.yaml", "conf/local_mine.yaml", "models/net.py",
                           "models/__init__.py", "models/weights.bin", "train.py", "data.bin"}) {
    Write(path);
  }
  Git("add -f .gitignore conf/local_lab.yaml models/net.py models/__init__.py train.py");
  EXPECT_THAT(Paths(), ElementsAre(".gitignore", "conf", "conf/local_lab.yaml", "models",
                                   "models/__init__.py", "models/net.py", "train.py"));
  EXPECT_EQ(ignored_.files, 3u);
  EXPECT_EQ(ignored_.bytes, 3u);
  EXPECT_THAT(ignored_.examples,
              ElementsAre("conf/local_mine.yaml", "data.bin", "models/weights.bin"));
  // Files in a folder within the repository are tracked, too.
  Write("models/.gitignore", "net.py\n");
  EXPECT_THAT(Paths("/models"), Contains("net.py"));
  // .autodistignore has priority.
  Write(".autodistignore", "models\n!data.bin\n");
  EXPECT_THAT(Paths(), Not(Contains(HasSubstr("models"))));
  EXPECT_THAT(Paths(), Contains("data.bin"));
}

TEST_F(GitIndexTest, NestedAndLinkedRepositories) {
  Git("init -q .");
  Write(".gitignore", "*.dat\n");
  Write("sub/keep.dat");
  Write("sub/not.dat");
  Git("init -q sub");
  Git("-C sub add -f keep.dat");
  EXPECT_THAT(Paths(), ElementsAre(".gitignore", "sub", "sub/keep.dat"));
  // The repository of a worktree or a submodule is elsewhere.
  std::filesystem::rename(folder_.path() + "/sub/.git", folder_.path() + "/.git/moved");
  Write("sub/.git", "gitdir: ../.git/moved\n");
  EXPECT_THAT(Paths(), ElementsAre(".gitignore", "sub", "sub/keep.dat"));
}

TEST_F(GitIndexTest, ASplitIndexCausesAWarning) {
  Git("init -q .");
  Write(".gitignore", "a\n");
  Write("a");
  Git("add -f a");
  Git("update-index --split-index");
  EXPECT_THAT(Paths(), ElementsAre(".gitignore"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("what git tracks is not known")));
}

TEST_F(GitIndexTest, TheIndexOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Git("init -q .");
  Write(".gitignore", "secret\n");
  Write("own/secret");
  Write("own/.gitignore", "secret\n");
  Git("add -f own/secret");
  EXPECT_THAT(Paths("/own"), ElementsAre(".gitignore", "secret"));
  for (const char* theirs : {".git", ".git/index"}) {
    const std::string path = folder_.path() + "/" + theirs;
    ASSERT_EQ(chown(path.c_str(), test::kNobody, test::kNobody), 0);
    EXPECT_THAT(Paths("/own"), ElementsAre(".gitignore")) << theirs;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("belongs to another user"))) << theirs;
    ASSERT_EQ(chown(path.c_str(), 0, 0), 0);
  }
  // Nor that of a .git file, which names any folder.
  std::filesystem::rename(folder_.path() + "/.git", folder_.path() + "/repository");
  ASSERT_EQ(lchown(folder_.Write(".git", "gitdir: repository\n").c_str(), test::kNobody, 0), 0);
  EXPECT_THAT(Paths("/own"), ElementsAre(".gitignore"));
}

TEST_F(GitIndexTest, WithoutARepositoryNothingIsTracked) {
  Write(".gitignore", "a\n");
  Write("a");
  EXPECT_THAT(Paths(), ElementsAre(".gitignore"));
  EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace autodist::files
