#include "agent/sync/extra_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "files/temporary_file.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class ExtraFilesTest : public testing::Test {
 protected:
  void Folder(const std::string& path) const { fs::create_directories(temp_.path() + "/" + path); }
  bool Exists(const std::string& path) const { return fs::exists(temp_.path() + "/" + path); }
  void Has(v1::FileType type, const std::string& path) {
    v1::FileEntry entry;
    entry.set_type(type);
    entry.set_path(path);
    entries_.push_back(std::move(entry));
  }
  ExtraFiles Find(size_t limit = 1000) const {
    auto found =
        FindExtraFiles(root_.get(), entries_, rules_, left_out_, limit, [] { return true; });
    EXPECT_TRUE(found.ok());
    return *std::move(found);
  }

  const test::TempFolder temp_;
  const base::UniqueFd root_{open(temp_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  std::vector<v1::FileEntry> entries_;  // of the chief
  files::IgnoreTree rules_;
  std::vector<std::string> left_out_;
};

TEST_F(ExtraFilesTest, AreThoseThatTheChiefLacks) {
  Folder("src");
  Folder("old/deep");
  for (const char* path : {"train.py", "old.py", "src/a.py", "src/b.py", "old/deep/c"}) {
    temp_.Write(path, "");
  }
  fs::create_symlink("train.py", temp_.path() + "/link");
  ASSERT_EQ(mkfifo((temp_.path() + "/fifo").c_str(), 0600), 0);
  Has(v1::FILE_TYPE_REGULAR, "train.py");
  Has(v1::FILE_TYPE_FOLDER, "src");
  Has(v1::FILE_TYPE_REGULAR, "src/a.py");
  Has(v1::FILE_TYPE_FOLDER, "gone");
  const ExtraFiles extra = Find();
  EXPECT_THAT(extra.files, ElementsAre("link", "old.py", "old/deep/c", "src/b.py"));
  EXPECT_THAT(extra.folders, ElementsAre("old", "old/deep"));
  EXPECT_TRUE(extra.complete);
  ASSERT_TRUE(DeleteExtraFiles(root_.get(), extra).ok());
  EXPECT_FALSE(Exists("old") || Exists("src/b.py") || Exists("link"));
  EXPECT_TRUE(Exists("train.py") && Exists("src/a.py") && Exists("fifo"));
  ASSERT_TRUE(DeleteExtraFiles(root_.get(), extra).ok()) << "what is gone is no failure";
}

TEST_F(ExtraFilesTest, WhatIsExcludedOnTheChiefStays) {
  for (const char* folder :
       {".git", "autodist-runs", "__pycache__", "data", "old", "logs", "sub", "venv"}) {
    Folder(folder);
    temp_.Write(std::string(folder) + "/x.py", "");
  }
  temp_.Write("venv/pyvenv.cfg", "");
  temp_.Write("a.ckpt", "");
  temp_.Write("old/a.ckpt", "");
  temp_.Write("sub/b.o", "");
  temp_.Write(files::kSyncRecord, "");
  temp_.Write(files::NewTemporaryName(), "");
  rules_.Add({"", "", "/data/\n*.ckpt\n"});
  rules_.Add({"sub", "*.o\n", ""});
  left_out_ = {"logs"};
  Has(v1::FILE_TYPE_FOLDER, "sub");
  const ExtraFiles extra = Find();
  EXPECT_THAT(extra.files, ElementsAre("old/x.py", "sub/x.py"));
  ASSERT_TRUE(DeleteExtraFiles(root_.get(), extra).ok());
  EXPECT_TRUE(Exists("old/a.ckpt") && Exists("data/x.py") && Exists("a.ckpt") && Exists("sub/b.o"));
}

// Git tracks a file in a folder that .gitignore excludes, so the chief has the folder.
TEST_F(ExtraFilesTest, WhatIsInAnIgnoredFolderStays) {
  Folder("data/deep");
  temp_.Write("data/keep", "");
  temp_.Write("data/large.bin", "");
  temp_.Write("data/deep/large.bin", "");
  rules_.Add({"", "data/\n", ""});
  Has(v1::FILE_TYPE_FOLDER, "data");
  Has(v1::FILE_TYPE_REGULAR, "data/keep");
  EXPECT_THAT(Find().files, IsEmpty());
  Has(v1::FILE_TYPE_FOLDER, "data/deep");
  EXPECT_THAT(Find().files, IsEmpty());
}

TEST_F(ExtraFilesTest, OtherFileSystemsAreNotEntered) {
  const base::UniqueFd folder(open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat above;
  struct stat mounted;
  if (fstat(folder.get(), &above) != 0 || stat("/dev/shm", &mounted) != 0) return;
  const auto found =
      FindExtraFiles(folder.get(), entries_, rules_, left_out_, 1000, [] { return true; });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(std::ranges::count(found->folders, "shm") == 0, above.st_dev != mounted.st_dev);
}

// Searches a folder on which another one of the same file system is mounted. Returns an exit code:
// 77 without root.
int SearchWithMount(const std::string& folder) {
  const std::string work = folder + "/work";
  if (unshare(CLONE_NEWNS) != 0 ||
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount((folder + "/shared").c_str(), (work + "/data").c_str(), nullptr, MS_BIND, nullptr) !=
          0) {
    return 77;
  }
  const base::UniqueFd root(open(work.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto found = FindExtraFiles(root.get(), {}, {}, {}, 1000, [] { return true; });
  return found.ok() && found->files.empty() && found->folders.empty() ? 0 : 1;
}

TEST(ExtraFilesDeathTest, MountedFoldersOfTheSameFileSystemAreNotEntered) {
  const test::TempFolder temp;
  fs::create_directories(temp.path() + "/work/data");
  fs::create_directories(temp.path() + "/shared");
  temp.Write("shared/precious", "");
  EXPECT_EXIT(
      _exit(SearchWithMount(temp.path())),
      [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) % 77 == 0; }, "");
}

TEST_F(ExtraFilesTest, TheSearchEndsAtTheLimit) {
  for (const char* path : {"a", "b", "c"}) temp_.Write(path, "");
  EXPECT_TRUE(Find(3).complete);
  EXPECT_FALSE(Find(2).complete);
  EXPECT_EQ(Find(2).files.size(), 2u);
}

TEST_F(ExtraFilesTest, LinksAreNotFollowed) {
  const test::TempFolder outside;
  outside.Write("precious", "");
  fs::create_directory_symlink(outside.path(), temp_.path() + "/link");
  EXPECT_THAT(Find().files, ElementsAre("link"));
  const ExtraFiles through{{"link/precious"}, {"link"}};
  EXPECT_FALSE(DeleteExtraFiles(root_.get(), through).ok());
  EXPECT_TRUE(fs::exists(outside.path() + "/precious"));
  Has(v1::FILE_TYPE_FOLDER, "link");
  EXPECT_THAT(Find().files, IsEmpty());
}

TEST(MayBeReadAtStartTest, ModulesAndCheckpointsAre) {
  for (const char* path : {"a.py", "src/Old.PY", "snapshot.pt", "ckpt/last", "out/checkpoint-20/x",
                           "lib/native.so", "model.safetensors"}) {
    EXPECT_TRUE(MayBeReadAtStart(path)) << path;
  }
  for (const char* path : {"result.txt", "out/log", "a.pyc", "metrics.json", "plot.png"}) {
    EXPECT_FALSE(MayBeReadAtStart(path)) << path;
  }
}

}  // namespace
}  // namespace autodist::agent
