#include "files/temporary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::files {
namespace {

class TemporaryFileTest : public testing::Test {
 protected:
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()),
                                             std::filesystem::directory_iterator()));
  }

  const test::TempFolder folder_;
  const base::UniqueFd fd_{open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(TemporaryFileTest, IsRemovedWithItsObject) {
  {
    const auto file = TemporaryFile::Create(fd_.get());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(IsTemporaryName(file->name()));
    EXPECT_EQ(Files(), 1u);
  }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(TemporaryFileTest, ReplacesAnotherFile) {
  folder_.Write("a", "old");
  {
    auto file = TemporaryFile::Create(fd_.get());
    ASSERT_TRUE(base::WriteAll(file->fd(), "new", base::Deadline::Never()).ok());
    EXPECT_EQ(folder_.Read("a"), "old");
    ASSERT_TRUE(file->Keep("a").ok());
  }
  EXPECT_EQ(folder_.Read("a"), "new");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(TemporaryFileTest, OnlyLeftoversAreRemoved) {
  const auto in_use = TemporaryFile::Create(fd_.get());
  folder_.Write(NewTemporaryName(), "torn");
  std::filesystem::create_symlink("x", folder_.path() + "/" + NewTemporaryName());
  folder_.Write(".autodist-sync-notes", "the user's own");
  RemoveLeftovers(fd_.get());
  EXPECT_EQ(Files(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/" + in_use->name()));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/.autodist-sync-notes"));
}

TEST_F(TemporaryFileTest, ZerosBecomeHoles) {
  const std::string zeros(1 << 20, '\0');
  auto file = NewFile::Create(fd_.get(), "a", {3 * zeros.size() + 4, 0600, 0});
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write(zeros).ok());
  ASSERT_TRUE(file->Write("data").ok());
  ASSERT_TRUE(file->Write(zeros).ok());
  ASSERT_TRUE(file->AddHole(zeros.size()).ok());
  EXPECT_FALSE(file->AddHole(1).ok()) << "larger than announced";
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(folder_.Read("a"), zeros + "data" + zeros + zeros);
  struct stat info;
  ASSERT_EQ(stat((folder_.path() + "/a").c_str(), &info), 0);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST_F(TemporaryFileTest, TimesAreThoseOfNewFiles) {
  const int64_t before = TimeOfFilesNow(fd_.get());
  struct stat info;
  ASSERT_EQ(stat(folder_.Write("a", "x").c_str(), &info), 0);
  const int64_t written = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  EXPECT_LE(before, written);
  EXPECT_LE(written, TimeOfFilesNow(fd_.get()));
  EXPECT_EQ(Files(), 1u);
  EXPECT_GT(TimeOfFilesNow(-1), 0);
  EXPECT_TRUE(MeasuredTimeOfFiles(fd_.get()));
  EXPECT_FALSE(MeasuredTimeOfFiles(-1));
}

TEST_F(TemporaryFileTest, AnUnwritableFolderIsAnError) {
  EXPECT_FALSE(TemporaryFile::Create(-1).ok());
}

}  // namespace
}  // namespace autodist::files
